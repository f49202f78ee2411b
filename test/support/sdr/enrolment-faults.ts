import type { Group } from './clean.ts'
import { first, type Row } from './columns.ts'
import { shiftDate, spreadFactor } from './enrolments.ts'
import { type Faulty, isCurrent, isPlain, levelOf, takeShort } from './faulty.ts'

export function breakEnrolments(data: Faulty): void {
  const set = (code: string, values: (row: Row) => Row, suits?: (row: Row) => boolean) => {
    const row = data.takeEnrolment(suits)
    Object.assign(row, values(row))
    data.note(code, 'enrolments', row)
    return row
  }
  set('ENR-00-reference1', () => ({ studentIdentificationCode: 'S9999999' }))
  set('ENR-00-reference2', () => ({ courseCode: 'FIC99999' }))
  set('ENR-101', () => ({ nationalStudentNumber: '990900003' }))
  set('ENR-102', () => ({ qualificationCode: 'FQ9999' }))
  set('ENR-103', (row) => ({ eftsFactor: '0.2000', ...spreadFactor({ ...row, eftsFactor: '0.2000' }) }))
  set('ENR-105', (row) => ({ courseWithdrawalDate: shiftDate(row.courseStartDate, -1) }))
  set('ENR-106', (row) => ({ courseWithdrawalDate: shiftDate(row.courseEndDate, 1) }))
  // A month that is too large, too small, or outside the enrolment. December is always part of it.
  const large = set(
    'ENR-109',
    (row) => ({ eftsMonth12: row.eftsFactor ?? '' }),
    (row) => Number(row.eftsMonth11) > 0,
  )
  data.note('ENR-110', 'enrolments', large)
  set('ENR-110', (row) => ({ eftsMonth12: (Number(row.eftsMonth12) - 0.0001).toFixed(4) }))
  set(
    'ENR-111',
    () => ({ eftsMonth01: '0.0001' }),
    (row) => row.eftsMonth01 === '0.0000',
  )
  const again = data.takeEnrolment((row) => (row.courseStartDate ?? '').slice(8) < '20')
  const start = shiftDate(again.courseStartDate, 3)
  data.add('enrolments', { ...again, localId: 'EX2', courseStartDate: start }, 'ENR-201')
  set('ENR-202', (row) => {
    const courseEndDate = shiftDate(row.courseStartDate, 500)
    return { courseEndDate, ...spreadFactor({ ...row, courseEndDate }) }
  })
  set('ENR-207', (row) => ({ sourceOfFunding: '31', courseWithdrawalDate: shiftDate(row.courseEndDate, -9) }))
  set(
    'ENR-208',
    () => ({ sourceOfFunding: '29', consortium: 'FIC' }),
    (row) => !/[34]/.test(levelOf(data, row)),
  )

  // Without an outcome to report: non-formal enrolments of one month.
  const brief = (code: string, courseStartDate: string, courseEndDate: string) => {
    const row = first(data.takeGroup((group) => group.learner.enrolmentType === 'C').enrolments)
    Object.assign(row, { courseStartDate, courseEndDate })
    Object.assign(row, spreadFactor(row))
    data.note(code, 'enrolments', row)
  }
  brief('ENR-104', '2025-06-10', '2025-06-09')
  brief('ENR-107', '2026-01-05', '2026-01-25')
  brief('ENR-108', '2024-11-05', '2024-11-25')

  const ended = data.takeGroup((group) => isPlain(group) && group.completions.some(isCurrent))
  const outcome = first(ended.completions.filter(isCurrent))
  ended.completions.splice(ended.completions.indexOf(outcome), 1)
  data.note('ENR-211', 'enrolments', enrolmentOf(ended, outcome))
}

export function breakFees(data: Faulty): void {
  const international = (paid: boolean) =>
    data.takeGroup(
      ({ learner, enrolments }) =>
        enrolments[0]?.sourceOfFunding === '02' && (learner.foreignFee !== '') === paid,
    )
  const every = (code: string, group: Group, values: Row) => {
    Object.assign(group.learner, values)
    for (const row of group.enrolments) data.note(code, 'enrolments', row)
  }
  every('ENR-203', international(true), { foreignFee: '' })
  every('ENR-204', international(false), { foreignFee: '12500.00' })
  every('ENR-205', international(true), { citizenship: 'NZL' })
  const resident = first(international(true).enrolments)
  resident.residentialStatus = 'Y'
  data.note('ENR-206', 'enrolments', resident)
}

export function breakTypes(data: Faulty): void {
  const large = data.takeGroup(
    (group) => isPlain(group) && group.enrolments.every((row) => row.sourceOfFunding === '01'),
  )
  large.learner.enrolmentType = 'B'
  data.note('LEA-206', 'learners', large.learner)

  const small = takeShort(data, '01')
  Object.assign(small.learner, {
    enrolmentType: 'D',
    priorActivity: '01',
    firstYearOfTertiaryEducation: '2024',
    lastSecondarySchool: '0001',
    lastYearAtSchool: '2023',
    highestSchoolQualification: '01',
  })
  data.note('LEA-207', 'learners', small.learner)

  const formal = data.takeGroup((group) => isPlain(group) && group.completions.length === 0)
  formal.learner.enrolmentType = 'C'
  for (const row of formal.enrolments) data.note('ENR-209', 'enrolments', row)

  const nonFormal = data.takeGroup((group) => group.learner.enrolmentType === 'C')
  nonFormal.learner.enrolmentType = 'B'
  for (const row of nonFormal.enrolments) data.note('ENR-210', 'enrolments', row)
}

function enrolmentOf(group: Group, completion: Row): Row {
  return first(group.enrolments.filter((row) => row.courseCode === completion.courseCode))
}
