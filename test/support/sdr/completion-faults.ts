import type { Group } from './clean.ts'
import { first, type Row } from './columns.ts'
import { shiftDate } from './enrolments.ts'
import { type Faulty, isCurrent, isDomestic, isPlain, takeQualification, takeShort } from './faulty.ts'

export function breakCompletions(data: Faulty): void {
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
  set('CCO-202', (row) => ({ courseEndDate: shiftDate(row.courseEndDate, -1) }), finished)
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

export function breakQualifications(data: Faulty): void {
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
