import type { Field, FileName, Row } from './columns.ts'
import { type Faulty, isPlain, levelOf } from './faulty.ts'

/** The kinds of checks of a field, and the order in which they are broken. */
type Kind =
  | 'spaces'
  | 'required'
  | 'type'
  | 'length'
  | 'pattern'
  | 'range'
  | 'decimals'
  | 'enum'
  | 'items'
  | 'characters'
  | 'unique'

/** How to break a check: a value, or what to do with the record. */
type Break = string | ((row: Row, field: string) => void)

/** What to write into a field to break one check and no other. */
const BREAKS: Readonly<Record<string, Break>> = {
  'enrolments.studentIdentificationCode.length': 'S0000000001',
  'enrolments.studentIdentificationCode.pattern': 'S-000001',
  'course-completions.studentIdentificationCode.length': 'S0000000003',
  'course-completions.studentIdentificationCode.pattern': 'S-000003',
  'qualification-completions.studentIdentificationCode.length': 'S0000000004',
  'qualification-completions.studentIdentificationCode.pattern': 'S-000004',
  'nationalStudentNumber.range': '0',
  'qualificationCode.length': 'FQ00001',
  'qualificationCode.pattern': 'FQ-001',
  'courseCode.length': 'FIC000000000000000001',
  'courseCode.pattern': 'FIC-0001',
  'enrolments.courseCode.length': 'FIC000000000000000002',
  'enrolments.courseCode.pattern': 'FIC-0002',
  'courseClassification.length': '100',
  'nzscedFieldOfStudy.pattern': '80301',
  'fundingCategory.pattern': '1P',
  'irdNumber.pattern': '99-000-001',
  // A trailing zero leaves the value as it is.
  'eftsFactor.decimals': (row) => change(row, 'eftsFactor', `${row.eftsFactor}0`),
  'learners.nameIdCode.length': 'XQZXZZ',
  'learners.nameIdCode.pattern': 'xqzxz',
  'learners.nameIdCode.characters': 'X?ZXZ',
  'learners.enrolmentType.enum': 'A',
  'learners.gender.enum': 'X',
  'learners.totalFeeForDomesticStudent.decimals': '1234.567',
  'learners.foreignFee.range': (row) => {
    change(row, 'totalFeeForDomesticStudent', '')
    change(row, 'foreignFee', '-1')
  },
  'learners.priorActivity.pattern': '5',
  'learners.lastSecondarySchool.pattern': '12',
  'learners.highestSchoolQualification.length': '1',
  'learners.citizenship.pattern': 'nzl',
  'learners.iwi.length': '0121;0805;2311;2311;2311;2311;4444',
  'learners.iwi.items': '121',
  'learners.ethnicity.length': '111;111;111;111;111;111;211',
  'learners.ethnicity.items': '11',
  'learners.permanentPostcode.pattern': '601',
  'learners.termPostcode.pattern': '601',
  'courses.courseTitle.length': 'Fictitious'.repeat(26),
  'courses.courseTitle.characters': 'Fictitious caf?s',
  'courses.nzqcfLevel.length': '10',
  'enrolments.courseWithdrawalDate.required': (row) => change(row, 'sourceOfFunding', '31'),
  'enrolments.internationalFeesAssessmentCategory.length': '1',
  'enrolments.attendance.enum': '4',
  'enrolments.deliverySite.length': '1',
  'enrolments.sourceOfFunding.pattern': '1',
  'enrolments.sourceOfFunding.enum': '04',
  'enrolments.residentialStatus.enum': 'X',
  'enrolments.australianResidentialStatus.enum': 'X',
  'enrolments.iteSubject.required': (row) => {
    change(row, 'iteSector', '3')
    change(row, 'iteSubject', '')
  },
  'enrolments.consortium.required': (row) => change(row, 'sourceOfFunding', '29'),
  'course-completions.completionIndicator.pattern': 'W',
  'course-completions.completionIndicator.enum': '9',
}

/** Breaks every check of every field once. */
export function breakFields(data: Faulty): void {
  for (const file of data.files) {
    for (const [index, field] of file.fields.entries()) {
      for (const [place, kind] of kindsOf(field).entries()) {
        const code = `${file.prefix}-${String(index + 1).padStart(2, '0')}-${kind}`
        if (file.name === 'learners' && breakIdentity(data, field.name, kind, code)) continue
        const apart = field.name.startsWith('discounted') ? 1 : 0
        const row = takeRow(data, file.name, field.name, kind, index + place + apart)
        if (kind === 'spaces') change(row, field.name, `${row[field.name] || (field.example ?? '')} `)
        else if (kind === 'unique') change(row, field.name, firstOf(data, file.name)[field.name] ?? '')
        else breakRow(row, file.name, field, kind)
        data.note(code, file.name, row)
      }
    }
  }
}

function kindsOf(field: Field): Kind[] {
  const rules = field.constraints ?? {}
  const has = (...names: string[]) => names.some((name) => name in rules)
  const kinds: [Kind, boolean][] = [
    ['spaces', true],
    ['required', has('required') || field['mahi:requiredWhen'] !== undefined],
    ['type', !['string', 'any', 'list'].includes(field.type)],
    ['length', has('minLength', 'maxLength')],
    ['pattern', has('pattern')],
    ['range', has('minimum', 'maximum')],
    ['decimals', field['mahi:decimals'] !== undefined],
    ['enum', has('enum') || field.categories !== undefined || field['mahi:codelist'] !== undefined],
    ['items', field['mahi:items'] !== undefined],
    ['characters', field['mahi:characters'] !== undefined],
    ['unique', has('unique')],
  ]
  return kinds.filter(([, present]) => present).map(([kind]) => kind)
}

function takeRow(data: Faulty, file: FileName, field: string, kind: Kind, spread: number): Row {
  switch (file) {
    case 'learners':
      return data.takeGroup(isPlain).learner
    case 'courses': {
      // Courses without enrolments. Fields that are compared with each other never share a record.
      const idle = data.courses.filter((course) => course.kind === 'idle')
      const course = idle[spread % idle.length]
      if (course === undefined) throw new Error('There is no course without enrolments.')
      return course.row
    }
    case 'enrolments':
      return data.takeEnrolment((row) => {
        if (field === 'consortium' && kind === 'required') return /[34]/.test(levelOf(data, row))
        return true
      })
    case 'course-completions':
      return data.takeCompletion()
    case 'qualification-completions': {
      const [row] = data.takeGroup((group) => group.qualifications.length > 0).qualifications
      if (row === undefined) throw new Error('The learner has no qualification completion.')
      return row
    }
  }
}

function breakRow(row: Row, file: FileName, field: Field, kind: Kind): void {
  const { name } = field
  const listed = BREAKS[`${file}.${name}.${kind}`] ?? BREAKS[`${name}.${kind}`]
  if (typeof listed === 'function') listed(row, name)
  else change(row, name, listed ?? usual(row, field, kind))
}

function usual(row: Row, field: Field, kind: Kind): string {
  if (kind === 'required') return ''
  if (kind === 'type') return field.type === 'date' ? '17/02/2025' : field.type === 'year' ? '25' : '12,5'
  // The smallest fault keeps the sum of the months below the factor.
  if (kind === 'range') return field.name.startsWith('efts') ? '-0.0001' : '-1'
  if (kind === 'decimals') return `${row[field.name]}0`
  throw new Error(`No value breaks ${kind} of ${field.name}.`)
}

function change(row: Row, field: string, value: string): void {
  row[field] = value
}

function firstOf(data: Faulty, file: FileName): Row {
  const [row] = data.rowsOf(file)
  if (typeof row !== 'object') throw new Error(`${file} is empty.`)
  return row
}

/** A fault in what identifies a learner reaches into the other files. */
function breakIdentity(data: Faulty, field: string, kind: Kind, code: string): boolean {
  if (kind === 'spaces') return false
  if (field === 'nationalStudentNumber') {
    const { learner, enrolments, completions } = data.takeGroup(isPlain)
    change(learner, field, kind === 'required' ? '' : kind === 'type' ? '99o000001' : '0')
    // An NSN that is empty elsewhere is not compared.
    for (const row of [...enrolments, ...completions]) change(row, field, '')
    data.note(code, 'learners', learner)
    return true
  }
  if (field !== 'studentIdentificationCode') return false
  const { learner, enrolments, completions } = data.takeGroup(isPlain)
  data.note(code, 'learners', learner)
  if (kind === 'required') {
    change(learner, field, '')
    for (const row of enrolments) data.note('ENR-00-reference1', 'enrolments', row)
    return true
  }
  const value = kind === 'length' ? 'S0000000002' : 'S-000002'
  change(learner, field, value)
  for (const row of enrolments) {
    change(row, field, value)
    data.note(`ENR-02-${kind}`, 'enrolments', row)
  }
  for (const row of completions) {
    change(row, field, value)
    data.note(`CCO-02-${kind}`, 'course-completions', row)
  }
  return true
}
