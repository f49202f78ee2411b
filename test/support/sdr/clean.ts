import { Random } from '../random.ts'
import type { Row } from './columns.ts'
import { type Course, makeCourse } from './courses.ts'
import { enrol, type Stay } from './enrolments.ts'

/** How much data, and the seed that decides its content. */
export interface Size {
  seed: number
  learners: number
  courses: number
  enrolments: number
}

/** A return of so many enrolments, with as many learners and courses as they usually have. */
export function sizeOf(enrolments: number, seed: number): Size {
  return {
    seed,
    enrolments,
    learners: Math.max(20, Math.round(enrolments / 5)),
    courses: Math.min(5000, Math.max(40, Math.round(enrolments / 200))),
  }
}

/** A learner with everything that belongs to the learner. */
interface Group {
  learner: Row
  enrolments: Row[]
  completions: Row[]
  qualifications: Row[]
}

/** The size of the samples in the repository. */
export const SAMPLE: Size = { seed: 2025, learners: 400, courses: 40, enrolments: 1500 }

/** The last day of the December return: everything that ended by then has an outcome. */
const AS_OF = '2025-12-31'

type Kind = 'short' | 'non-formal' | 'fee-of-learner' | 'fee-of-course' | 'domestic'

const COUNTRIES = ['GBR', 'BTN', 'HKG', '999'] as const
/** Sources of funding of domestic learners. 12 and 20 need no actual fee. */
const FUNDING = { '01': 70, '03': 6, '11': 4, '12': 4, '20': 4, '25': 4, '37': 8 }

export function makeCourses(size: Size): Course[] {
  const random = new Random(size.seed)
  return Array.from({ length: size.courses }, (_, index) => makeCourse(index, random))
}

/**
 * Fictitious learners with consistent data: no check of the definition finds anything in it. Learners are
 * made one at a time, so ten million enrolments need no more memory than ten.
 */
export function* makeGroups(size: Size, courses: readonly Course[]): Generator<Group> {
  const random = new Random(size.seed + 1)
  const pools = poolsOf(courses)
  let made = 0
  for (let index = 0; index < size.learners; index++) {
    const kind = kindOf(index)
    const pool = pools[kind]
    const planned = Math.floor(((index + 1) * size.enrolments) / size.learners)
    // Every second learner leaves some enrolments to the next one, so the total stays exact.
    const left = index % 2 === 0 ? random.below(3) : 0
    const count = Math.max(1, Math.min(planned - made - left, pool.length))
    made += count
    yield makeGroup(index, kind, pool, count, random)
  }
}

function kindOf(index: number): Kind {
  const place = index % 20
  if (place === 0) return 'short'
  if (place === 10) return 'non-formal'
  if (place === 5) return 'fee-of-learner'
  if (place === 15) return 'fee-of-course'
  return 'domestic'
}

function poolsOf(courses: readonly Course[]): Record<Kind, Course[]> {
  const of = (...kinds: Course['kind'][]) => courses.filter((course) => kinds.includes(course.kind))
  return {
    short: of('short'),
    'non-formal': of('non-formal'),
    'fee-of-learner': of('formal'),
    'fee-of-course': of('foreign-fee'),
    domestic: of('formal', 'foreign-fee', 'trades', 'teaching'),
  }
}

function makeGroup(index: number, kind: Kind, pool: readonly Course[], count: number, random: Random): Group {
  const learner = makeLearner(index, kind, random)
  const funding = kind === 'short' ? (index % 40 === 0 ? '11' : '01') : undefined
  const stays = chooseCourses(pool, count, random).map((course) => enrol(course, random))
  const who = {
    studentIdentificationCode: learner.studentIdentificationCode ?? '',
    nationalStudentNumber: learner.nationalStudentNumber ?? '',
  }
  const international = kind === 'fee-of-learner' || kind === 'fee-of-course'
  const enrolments = stays.map((stay, place): Row => {
    const { course } = stay
    const usual = international ? '02' : course.kind === 'trades' ? '29' : random.pick(FUNDING)
    const sourceOfFunding = stay.leftEarly && !international ? '31' : (funding ?? usual)
    const free = ['02', '12', '20'].includes(sourceOfFunding)
    return {
      localId: `E${who.studentIdentificationCode.slice(1)}${place + 1}`,
      ...who,
      ...stay.row,
      sourceOfFunding,
      internationalFeesAssessmentCategory: international ? '02' : '01',
      residentialStatus: international ? 'N' : 'Y',
      australianResidentialStatus: learner.citizenship === 'AUS' ? 'Y' : 'N',
      secondarySchoolProgramme: 'N',
      actualCourseFee: free ? '' : (course.row.courseTuitionFee ?? ''),
      consortium: sourceOfFunding === '29' ? 'FIC' : '',
    }
  })
  return {
    learner,
    enrolments,
    completions: makeCompletions(learner, kind, stays, enrolments, pool, random),
    qualifications: makeQualifications(learner, kind, stays, random),
  }
}

function makeLearner(index: number, kind: Kind, random: Random): Row {
  const international = kind.startsWith('fee')
  const born = 1960 + random.below(46)
  const left = born + 16 + random.below(3)
  const first = random.chance(0.3) ? 2025 : Math.min(2024, left + 1 + random.below(8))
  const total = 800 + random.below(8000)
  const row: Row = {
    localId: `L${pad(index + 1, 7)}`,
    enrolmentType: kind === 'short' ? 'B' : kind === 'non-formal' ? 'C' : 'D',
    studentIdentificationCode: `S${pad(index + 1, 7)}`,
    nationalStudentNumber: String(990_000_001 + index),
    nameIdCode: `${['XQZX', 'ZQ  ', 'QXXZ', 'XZ  '][random.below(4)]}${'XQZ'[random.below(3)]}`,
    gender: random.pick({ F: 50, M: 47, D: 3 }),
    dateOfBirth: `${born}-${pad(1 + random.below(12), 2)}-${pad(1 + random.below(28), 2)}`,
    totalFeeForDomesticStudent: international ? '' : `${total}.50`,
    foreignFee: kind === 'fee-of-learner' ? `${total + 9000}.00` : '',
    citizenship: international
      ? (COUNTRIES[random.below(COUNTRIES.length)] ?? '999')
      : random.pick({ NZL: 9, AUS: 1 }),
    iwi: random.pick({ '': 80, '2311': 10, '0121;0805': 5, '4444': 5 }),
    ethnicity: random.pick({ '111': 60, '211': 15, '400': 15, '111;211': 10 }),
    irdNumber: random.chance(0.7) ? String(999_000_000 + (index % 1_000_000)) : '',
    permanentPostcode: pad(1000 + random.below(8000), 4),
    termPostcode: pad(1000 + random.below(8000), 4),
  }
  if (row.enrolmentType !== 'D') return row
  return {
    ...row,
    priorActivity: random.pick<string>(
      first === 2025 ? { '01': 6, '03': 3, '09': 1 } : { '01': 5, '05': 3, '07': 2 },
    ),
    firstYearOfTertiaryEducation: String(first),
    lastSecondarySchool: pad(1 + random.below(500), 4),
    lastYearAtSchool: String(left),
    highestSchoolQualification: pad(1 + random.below(20), 2),
  }
}

function makeCompletions(
  learner: Row,
  kind: Kind,
  stays: readonly Stay[],
  enrolments: readonly Row[],
  pool: readonly Course[],
  random: Random,
): Row[] {
  if (kind === 'non-formal') return []
  const code = learner.studentIdentificationCode ?? ''
  const rows = stays.flatMap((stay, place): Row[] => {
    const enrolment = enrolments[place]
    if (enrolment === undefined || stay.end > AS_OF) return []
    if (kind === 'short' && enrolment.sourceOfFunding === '11') return []
    return [
      {
        courseCode: enrolment.courseCode ?? '',
        courseStartDate: stay.start,
        courseEndDate: stay.withdrawn ?? stay.end,
        completionIndicator: stay.withdrawn === undefined ? random.pick({ '1': 3, '2': 7 }) : '4',
      },
    ]
  })
  // The enrolments in courses of earlier years are not part of this return.
  if (kind === 'domestic' && random.chance(0.15)) {
    const course = pool[random.below(pool.length)]
    if (course === undefined) throw new Error('There is no course for domestic learners.')
    rows.push({
      courseCode: course.row.courseCode ?? '',
      courseStartDate: `2024-02-${pad(1 + random.below(28), 2)}`,
      courseEndDate: `2024-${pad(6 + random.below(6), 2)}-15`,
      completionIndicator: '2',
      pbrfCourseCompletionYear: '2024',
    })
  }
  return rows.map((row, place) => ({
    localId: `F${code.slice(1)}${place + 1}`,
    studentIdentificationCode: code,
    nationalStudentNumber: learner.nationalStudentNumber ?? '',
    ...row,
  }))
}

/** A qualification is completed some days after the end of its last course. */
function makeQualifications(learner: Row, kind: Kind, stays: readonly Stay[], random: Random): Row[] {
  if (learner.enrolmentType !== 'D' || !random.chance(0.35)) return []
  const qualification = stays[0]?.row.qualificationCode ?? ''
  const ends = stays.filter((stay) => stay.row.qualificationCode === qualification).map((stay) => stay.end)
  const last = ends.reduce((latest, end) => (end > latest ? end : latest), '')
  if (last === '' || last > AS_OF) return []
  const done = new Date(Date.parse(last) + (1 + random.below(3)) * 86_400_000).toISOString().slice(0, 10)
  const code = learner.studentIdentificationCode ?? ''
  return [
    {
      localId: `Q${code.slice(1)}1`,
      studentIdentificationCode: code,
      nationalStudentNumber: learner.nationalStudentNumber ?? '',
      qualificationCode: qualification,
      yearRequirementsMet: done.slice(0, 4),
      qualificationCompletionDate: done,
      irdNumber: kind === 'domestic' ? (learner.irdNumber ?? '') : '',
    },
  ]
}

function chooseCourses(pool: readonly Course[], count: number, random: Random): Course[] {
  const chosen = new Set<Course>()
  while (chosen.size < count) {
    const course = pool[random.below(pool.length)]
    if (course === undefined) throw new Error('There are too few courses of a kind.')
    chosen.add(course)
  }
  return [...chosen]
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0')
}
