import type { Random } from '../random.ts'
import type { Row } from './columns.ts'

export interface Course {
  kind: 'short' | 'non-formal' | 'foreign-fee' | 'trades' | 'teaching' | 'formal' | 'idle'
  /** Months that an enrolment lasts. */
  months: number
  row: Row
}

/** Factors with four decimal places that no number of months divides without a remainder. */
const FACTORS = ['0.0833', '0.1000', '0.1167', '0.1250', '0.1333', '0.1667'] as const
const FIELDS = ['080301', '020199', '061303', '090701', '100301'] as const

/** Of every 40 courses, 4 have no enrolments: a register may list more than is taught. */
function kindOf(index: number): Course['kind'] {
  const place = index % 40
  if (place < 4) return 'short'
  if (place < 8) return 'non-formal'
  if (place < 14) return 'foreign-fee'
  if (place < 16) return 'trades'
  if (place < 18) return 'teaching'
  return place < 36 ? 'formal' : 'idle'
}

export function makeCourse(index: number, random: Random): Course {
  const kind = kindOf(index)
  const code = `FIC${String(index + 1).padStart(5, '0')}`
  const brief = kind === 'short' || kind === 'non-formal'
  const field = FIELDS[index % FIELDS.length] ?? FIELDS[0]
  const long = index % 2 === 1
  const factor = brief ? '0.0050' : (FACTORS[index % FACTORS.length] ?? FACTORS[0])
  const tuition = brief ? 60 : 500 + random.below(1500)
  const hours = kind === 'non-formal' ? (long ? 60 : 40) : Math.round(Number(factor) * 1200)
  const nonFormal = long ? `G${field.slice(0, 4)}1` : 'G9999'
  return {
    kind,
    months: brief ? 1 : 4 + (index % 7),
    row: {
      localId: `C${index + 1}`,
      courseCode: code,
      courseTitle:
        index % 3 === 0 ? `Fictitious course ${index + 1}, "café" level` : `Fictitious course ${index + 1}`,
      qualificationCode:
        kind === 'non-formal' ? nonFormal : `FQ${String(Math.floor(index / 4) + 1).padStart(4, '0')}`,
      courseClassification: `${String(1 + (index % 30)).padStart(2, '0')}00`,
      nzscedFieldOfStudy: field,
      nzqcfLevel: kind === 'trades' ? (long ? '3' : '4') : String(1 + (index % 9)),
      credit: kind === 'non-formal' ? '' : String(Math.max(1, Math.round(Number(factor) * 120))),
      fundingCategory: `${'ABCJLP'[index % 6]}${1 + (index % 3)}`,
      eftsFactor: factor,
      courseTuitionFee: `${tuition}.00`,
      foreignFee: kind === 'foreign-fee' ? `${tuition * 4}.00` : '',
      compulsoryCourseCostsFee: kind === 'formal' ? '80.00' : '',
      discountedCourseTuitionFee: kind === 'formal' && long ? `${tuition - 100}.00` : '',
      discountedCompulsoryCourseCostsFee: kind === 'formal' && long ? '40.00' : '',
      learningHours: String(hours),
    },
  }
}
