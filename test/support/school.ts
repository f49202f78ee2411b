import { renderRecord } from '../../src/engines/records/index.ts'
import { define } from './definition.ts'

type Row = Record<string, string>
/** The records of each file of a school; they may be changed. */
export type School = Record<'learners' | 'courses' | 'enrolments' | 'results', Row[]>

const rule = (code: string, file: string, field: string, message: string, query: string, relates = '') => `/*
code: ${code}
file: ${file}
fields: [${field}]
relates: {${relates}}
message: '${message}'
why: A test.
fix: Correct it.
examples: []
*/
${query}`

const RULES = {
  'rules/RES-201.sql': rule(
    'RES-201',
    'results',
    'course',
    'There is no enrolment of {learner} in {course}.',
    `select row from results where not exists (select 1 from enrolments
where enrolments.learner = results.learner and enrolments.course = results.course and enrolments.start = results.start)`,
    'enrolments: [learner, course, start]',
  ),
  'rules/ENR-201.sql': rule(
    'ENR-201',
    'enrolments',
    'course',
    'The enrolment of {learner} in {course} has no result.',
    `select row from enrolments where ended = 'Y' and not exists (select 1 from results
where enrolments.learner = results.learner and enrolments.course = results.course and enrolments.start = results.start)`,
    'results: [learner, course, start]',
  ),
  'rules/ENR-202.sql': rule(
    'ENR-202',
    'enrolments',
    'course',
    'Nobody pays for {course}.',
    `select enrolments.row from enrolments join learners on learners.id = enrolments.learner
join courses on courses.code = enrolments.course where learners.fee is null and courses.fee is null`,
  ),
}

const required = (name: string) => ({ name, constraints: { required: true } })
const start = { ...required('start'), type: 'date' }
const fee = { name: 'fee', type: 'number' }
const to = (fields: string, resource: string, other: string) => ({
  fields,
  reference: { resource, fields: other },
})
const of = (studentId: string) => ({ 'mahi:record': { studentId } })
const by = [{ resource: 'enrolments', fields: ['learner'] }]

const TABLES = {
  learners: {
    fields: [
      { name: 'id', constraints: { required: true, pattern: 'S[0-9]+' } },
      { name: 'name' },
      { name: 'born', type: 'date' },
      fee,
    ],
    primaryKey: 'id',
    'mahi:recordChecks': [{ kind: 'referenced', code: 'LEA-101', fields: ['id'], by }],
    resource: of('id'),
  },
  courses: {
    fields: [required('code'), { name: 'title' }, fee],
    primaryKey: 'code',
    resource: { 'mahi:code': 'CRS' },
  },
  enrolments: {
    fields: [
      ...['learner', 'course'].map(required),
      start,
      { name: 'ended', constraints: { enum: ['Y', 'N'] } },
    ],
    foreignKeys: [to('learner', 'learners', 'id'), to('course', 'courses', 'code')],
    resource: of('learner'),
  },
  results: {
    fields: [
      ...['learner', 'course'].map(required),
      start,
      { name: 'grade', constraints: { enum: ['A', 'B'] } },
    ],
    foreignKeys: [to('learner', 'learners', 'id')],
    resource: of('learner'),
  },
}

/** A definition of four files that need each other: by references, and by rules about records that are not there. */
/** @param queries of rules by their codes, in place of their own */
export function writeSchool(queries: Readonly<Record<string, string>> = {}): string {
  const rules = Object.entries(RULES).map(([path, text]) => {
    const query = queries[path.slice('rules/'.length, -'.sql'.length)]
    return [path, query === undefined ? text : text.replace(/\*\/\n[\s\S]*/, `*/\n${query}`)]
  })
  return define(TABLES, {}, Object.fromEntries(rules))
}

/** Records without faults: learners that are enrolled in courses, each of which pays or is paid for. */
export function makeSchool(): School {
  const learners = Array.from({ length: 12 }, (_, at) => ({
    id: `S00${10 + at}`,
    name: `Learner ${at}`,
    born: `19${80 + at}-02-1${at % 10}`,
    fee: at % 2 === 0 ? '12.50' : '',
  }))
  const courses = Array.from({ length: 4 }, (_, at) => ({
    code: `FIC0${at + 1}`,
    title: `Course ${at}`,
    fee: at % 2 === 1 ? '100' : '',
  }))
  const enrolments = learners.flatMap(({ id }, at) =>
    [0, 2].map((more) => ({
      learner: id,
      course: courses[(at + more) % courses.length]?.code ?? '',
      start: `2025-0${(at % 3) + 1}-1${more}`,
      ended: more === 0 ? 'Y' : 'N',
    })),
  )
  const results = enrolments
    .filter(({ ended }) => ended === 'Y')
    .map(({ ended, ...rest }, at) => ({ ...rest, grade: at % 3 === 0 ? 'A' : 'B' }))
  return { learners, courses, enrolments, results }
}

/** The text of each file. */
export function renderSchool(school: Partial<School>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(school).map(([name, rows]) => {
      const columns = TABLES[name as keyof School].fields.map((field) => field.name)
      const lines = rows.map((row) => renderRecord(columns.map((column) => row[column] ?? '')))
      return [`${name}.csv`, [columns.join(), ...lines, ''].join('\n')]
    }),
  )
}
