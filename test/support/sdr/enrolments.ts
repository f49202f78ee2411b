import type { Random } from '../random.ts'
import type { Row } from './columns.ts'
import type { Course } from './courses.ts'

/** The time that a learner spends in a course. */
export interface Stay {
  course: Course
  start: string
  end: string
  withdrawn: string | undefined
  /** Withdrew before 10% of the course. */
  leftEarly: boolean
  row: Row
}

const YEAR = 2025
const DAY = 86_400_000

/** Places an enrolment so that at least one day of it is in the return year. */
export function enrol(course: Course, random: Random): Stay {
  const first = firstMonth(course, random)
  const last = first + course.months - 1
  const start = formatDate(first, 1 + random.below(20))
  const end = formatDate(last, 21 + random.below(8))
  const inside = first >= 1 && last <= 12
  const leftEarly = inside && course.months > 1 && random.chance(0.01)
  const withdrawn = leftEarly
    ? shiftDate(start, Math.floor(daysBetween(start, end) * 0.05))
    : inside && course.months > 1 && random.chance(0.05)
      ? shiftDate(start, Math.floor(daysBetween(start, end) * 0.6))
      : undefined
  const { row } = course
  return {
    course,
    start,
    end,
    withdrawn,
    leftEarly,
    row: {
      qualificationCode: row.qualificationCode ?? '',
      courseCode: row.courseCode ?? '',
      courseStartDate: start,
      courseEndDate: end,
      courseWithdrawalDate: withdrawn ?? '',
      attendance: String(5 + random.below(3)),
      deliverySite: random.pick({ '01': 3, '02': 1 }),
      fundingCategory: row.fundingCategory ?? '',
      courseClassification: row.courseClassification ?? '',
      nzscedFieldOfStudy: row.nzscedFieldOfStudy ?? '',
      eftsFactor: row.eftsFactor ?? '',
      ...spread(row.eftsFactor ?? '', first, last),
      iteSector: course.kind === 'teaching' ? '3' : '',
      iteSubject: course.kind === 'teaching' ? 'FIC' : '',
    },
  }
}

/** The EFTS factor divided by the months of the enrolment, rounded down, in the months of the return year. */
function spread(factor: string, first: number, last: number): Row {
  const units = Math.round(Number(factor) * 10_000)
  const share = (Math.floor(units / (last - first + 1)) / 10_000).toFixed(4)
  const months = Array.from({ length: 12 }, (_, index) => index + 1)
  return Object.fromEntries(
    months.map((month) => [
      `eftsMonth${String(month).padStart(2, '0')}`,
      month >= first && month <= last ? share : '0.0000',
    ]),
  )
}

/** The first month: 1 is January of the return year, 0 the December before it. */
function firstMonth(course: Course, random: Random): number {
  const { months } = course
  const chance = random.fraction()
  if (months > 1 && chance < 0.15) return -random.below(months - 1)
  if (months > 1 && chance < 0.55) return 14 - months + random.below(months - 1)
  return 1 + random.below(13 - months)
}

function formatDate(month: number, day: number): string {
  return new Date(Date.UTC(YEAR, month - 1, day)).toISOString().slice(0, 10)
}

/** The date that is so many days later. */
function shiftDate(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10)
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY
}
