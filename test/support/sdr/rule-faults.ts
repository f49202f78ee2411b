import type { Row } from './columns.ts'
import { breakCompletions, breakQualifications } from './completion-faults.ts'
import { breakEnrolments, breakFees, breakTypes } from './enrolment-faults.ts'
import { YEAR } from './enrolments.ts'
import { courseRow, type Faulty, isPlain, takeQualification } from './faulty.ts'

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
