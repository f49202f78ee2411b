import type { Group } from './clean.ts'
import type { Row } from './columns.ts'
import { spread, YEAR } from './enrolments.ts'
import { type Faulty, isDomestic, isPlain } from './faulty.ts'

const DAY = 86_400_000

/** Breaks every key, record check and rule once. */
export function breakRules(data: Faulty): void {
  breakKeys(data)
  breakLearners(data)
  breakCourses(data)
  breakEnrolments(data)
  breakFees(data)
  breakTypes(data)
  breakCompletions(data)
  breakQualifications(data)
}

/** An unknown column and a record that cannot be read, in every file. */
export function breakFiles(data: Faulty): void {
  for (const file of data.files) {
    data.note(`${file.prefix}-00-header`, file.name, undefined)
    const line = `a record of two columns,${file.name}`
    data.added[file.name].push(line)
    data.note(`${file.prefix}-00-record`, file.name, line)
  }
}

function breakKeys(data: Faulty): void {
  const twice = data.takeGroup((group) => isPlain(group) && group.completions.length === 0).learner
  data.add('learners', { ...twice, localId: 'LX1', nationalStudentNumber: '990900001' }, 'LEA-00-key')

  const other = data.takeGroup(isPlain).learner.nationalStudentNumber ?? ''
  const same = data.takeGroup(isPlain)
  for (const row of [same.learner, ...same.enrolments, ...same.completions]) row.nationalStudentNumber = other
  data.note('LEA-00-key2', 'learners', same.learner)

  data.add('courses', { ...courseRow(data, 'formal'), localId: 'CX1' }, 'CRS-00-key')
  data.add('enrolments', { ...data.takeEnrolment(), localId: 'EX1' }, 'ENR-00-key')
  data.add('course-completions', { ...data.takeCompletion(), localId: 'FX1' }, 'CCO-00-key')
  data.add('qualification-completions', { ...takeQualification(data), localId: 'QX1' }, 'QCO-00-key')
}

function breakLearners(data: Faulty): void {
  const set = (code: string, values: Row) => {
    const { learner } = data.takeGroup(isPlain)
    Object.assign(learner, values)
    data.note(code, 'learners', learner)
  }
  set('LEA-101', { firstYearOfTertiaryEducation: '2026' })
  set('LEA-102', { lastYearAtSchool: '2026' })
  set('LEA-103', { foreignFee: '100.00' })
  set('LEA-201', { dateOfBirth: '1920-01-01' })
  set('LEA-202', { firstYearOfTertiaryEducation: String(YEAR), priorActivity: '05' })
  set('LEA-203', { firstYearOfTertiaryEducation: '1950' })
  set('LEA-204', { lastYearAtSchool: '1950' })
  set('LEA-205', { iwi: '0121;4000' })
  const idle = { localId: 'LX2', studentIdentificationCode: 'S9000002', nationalStudentNumber: '990900002' }
  data.add('learners', { ...data.takeGroup(isPlain).learner, ...idle }, 'LEA-104')
}

function breakCourses(data: Faulty): void {
  const dear = courseRow(data, 'foreign-fee')
  dear.foreignFee = dear.courseTuitionFee ?? ''
  data.note('CRS-101', 'courses', dear)
  const [first, second] = data.courses.filter(({ row }) => row.discountedCourseTuitionFee !== '')
  if (first === undefined || second === undefined) throw new Error('Too few courses have a discount.')
  first.row.discountedCourseTuitionFee = '99999.00'
  data.note('CRS-102', 'courses', first.row)
  second.row.discountedCompulsoryCourseCostsFee = '99999.00'
  data.note('CRS-103', 'courses', second.row)

  const brief = courseRow(data, 'non-formal')
  data.add('courses', { ...brief, localId: 'CX2', courseCode: 'FIC20250217' }, 'CRS-201')
  const codes = { 'CRS-202': ['G9999', '60'], 'CRS-203': ['G08031', '8'] } as const
  for (const [code, [qualificationCode, learningHours]] of Object.entries(codes)) {
    const values = {
      localId: `CX${code}`,
      courseCode: `FIC9${code.slice(4)}`,
      qualificationCode,
      learningHours,
    }
    data.add('courses', { ...brief, ...values }, code)
  }
}

function breakEnrolments(data: Faulty): void {
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
  set('ENR-103', (row) => ({ eftsFactor: '0.2000', ...months({ ...row, eftsFactor: '0.2000' }) }))
  set('ENR-105', (row) => ({ courseWithdrawalDate: shift(row.courseStartDate, -1) }))
  set('ENR-106', (row) => ({ courseWithdrawalDate: shift(row.courseEndDate, 1) }))
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
  const start = shift(again.courseStartDate, 3)
  data.add('enrolments', { ...again, localId: 'EX2', courseStartDate: start }, 'ENR-201')
  set('ENR-202', (row) => {
    const courseEndDate = shift(row.courseStartDate, 500)
    return { courseEndDate, ...months({ ...row, courseEndDate }) }
  })
  set('ENR-207', (row) => ({ sourceOfFunding: '31', courseWithdrawalDate: shift(row.courseEndDate, -9) }))
  set(
    'ENR-208',
    () => ({ sourceOfFunding: '29', consortium: 'FIC' }),
    (row) => !/[34]/.test(level(data, row)),
  )

  // Without an outcome to report: non-formal enrolments of one month.
  const brief = (code: string, courseStartDate: string, courseEndDate: string) => {
    const row = first(data.takeGroup((group) => group.learner.enrolmentType === 'C').enrolments)
    Object.assign(row, { courseStartDate, courseEndDate })
    Object.assign(row, months(row))
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

function breakFees(data: Faulty): void {
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

function breakTypes(data: Faulty): void {
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

function breakCompletions(data: Faulty): void {
  const file = 'course-completions'
  const set = (code: string, values: (row: Row) => Row, suits: (row: Row) => boolean = isCurrent) => {
    const group = data.takeGroup((each) => isPlain(each) && each.completions.some(suits))
    const row = first(group.completions.filter(suits))
    Object.assign(row, values(row))
    data.note(code, file, row)
  }
  const finished = (row: Row) => isCurrent(row) && row.completionIndicator !== '4'
  const early = data.takeCompletion()
  early.courseEndDate = '2024-01-31'
  data.note('CCO-101', file, early)
  set('CCO-202', (row) => ({ courseEndDate: shift(row.courseEndDate, -1) }), finished)
  set('CCO-203', () => ({ nationalStudentNumber: '990900004' }))
  set('CCO-206', () => ({ completionIndicator: '4' }), finished)
  set('CCO-208', () => ({ pbrfCourseCompletionYear: '2023' }))
  const unfunded = data.takeGroup(
    (group) => isDomestic(group) && group.enrolments.some((row) => row.sourceOfFunding === '31'),
  )
  const left = first(unfunded.enrolments.filter((row) => row.sourceOfFunding === '31'))
  const outcome = first(unfunded.completions.filter((row) => row.courseCode === left.courseCode))
  outcome.completionIndicator = '2'
  data.note('CCO-207', file, outcome)

  const complete = (code: string, group: Group, values: Row = {}) => {
    const { studentIdentificationCode = '', nationalStudentNumber = '' } = group.learner
    const { courseCode = '', courseStartDate = '', courseEndDate = '' } = first(group.enrolments)
    const row = { courseCode, courseStartDate, courseEndDate, completionIndicator: '2', ...values }
    data.add(file, { localId: `FX${code}`, studentIdentificationCode, nationalStudentNumber, ...row }, code)
  }
  complete('CCO-201', data.takeGroup(isPlain), { courseCode: 'FIC88888' })
  complete(
    'CCO-204',
    data.takeGroup((group) => group.learner.enrolmentType === 'C'),
  )
  complete('CCO-205', takeShort(data, '11'))
}

function breakQualifications(data: Faulty): void {
  const file = 'qualification-completions'
  const set = (code: string, values: (row: Row) => Row, also: readonly string[] = []) => {
    const row = takeQualification(data)
    Object.assign(row, values(row))
    for (const each of [code, ...also]) data.note(each, file, row)
  }
  set('QCO-00-reference1', () => ({ studentIdentificationCode: 'S9999998' }), ['QCO-202'])
  set('QCO-101', () => ({ nationalStudentNumber: '990900005' }))
  set('QCO-102', () => ({ qualificationCompletionDate: '2026-01-15' }))
  set('QCO-201', () => ({ qualificationCode: 'FQ9999' }))
  set('QCO-203', () => ({ yearRequirementsMet: '2024' }))
  set('QCO-204', () => ({ qualificationCompletionDate: '2025-01-02' }))
  set('QCO-205', () => ({ yearRequirementsMet: '2026' }))

  const identity = { studentIdentificationCode: 'S9000003', nationalStudentNumber: '990900006' }
  data.add('learners', { ...data.takeGroup(isPlain).learner, localId: 'LX3', ...identity })
  const done = { yearRequirementsMet: '2025', qualificationCompletionDate: '2025-12-01' }
  data.add(file, { localId: 'QX2', ...identity, qualificationCode: 'FQ0005', ...done }, 'QCO-202')

  const { learner, enrolments } = takeShort(data, '01')
  const { studentIdentificationCode = '', nationalStudentNumber = '' } = learner
  const { qualificationCode = '' } = first(enrolments)
  const date = { yearRequirementsMet: '2025', qualificationCompletionDate: '2025-12-31' }
  const row = { localId: 'QX3', studentIdentificationCode, nationalStudentNumber, qualificationCode, ...date }
  data.add(file, row, 'QCO-206')
}

/** A type B learner: source of funding 11 has no outcomes. */
function takeShort(data: Faulty, sourceOfFunding: string): Group {
  return data.takeGroup(
    ({ learner, enrolments }) =>
      learner.enrolmentType === 'B' && enrolments[0]?.sourceOfFunding === sourceOfFunding,
  )
}

/** A qualification whose last course ended in the return year and was not withdrawn. */
function takeQualification(data: Faulty): Row {
  const group = data.takeGroup(({ qualifications: [row], enrolments }) =>
    enrolments.some(
      (each) => each.qualificationCode === row?.qualificationCode && each.courseWithdrawalDate === '',
    ),
  )
  return first(group.qualifications)
}

/** The EFTS by month that follow from the factor and the dates of an enrolment. */
function months(row: Row): Row {
  return spread(row.eftsFactor ?? '', monthOf(row.courseStartDate), monthOf(row.courseEndDate))
}

function monthOf(date = ''): number {
  return (Number(date.slice(0, 4)) - YEAR) * 12 + Number(date.slice(5, 7))
}

function isCurrent(row: Row): boolean {
  return (row.courseEndDate ?? '') >= `${YEAR}-01-01`
}

function enrolmentOf(group: Group, completion: Row): Row {
  return first(group.enrolments.filter((row) => row.courseCode === completion.courseCode))
}

function courseRow(data: Faulty, kind: string): Row {
  return first(data.courses.filter((course) => course.kind === kind)).row
}

function level(data: Faulty, enrolment: Row): string {
  return data.courses.find(({ row }) => row.courseCode === enrolment.courseCode)?.row.nzqcfLevel ?? ''
}

function shift(date = '', days: number): string {
  return new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10)
}

function first<Item>(items: readonly Item[]): Item {
  const [item] = items
  if (item === undefined) throw new Error('There is no record for a fault.')
  return item
}
