import { SAMPLE } from './clean.ts'
import type { FileName, Row } from './columns.ts'
import { makeTables, renderTable, type Tables } from './small.ts'

/** The course that a person forgot to add to the list of courses. */
const FORGOTTEN = 'FIC00021'
/** The qualification whose students got a delivery code that the institution made up. */
const MADE_UP = 'FQ0005'

/**
 * The clean return as people and their spreadsheet program left it: samples/README.md lists the ten things to fix, in
 * the order in which they happen here. Nothing else is wrong with it.
 */
export function renderAsExported(): Record<string, string | Buffer> {
  const tables = makeTables(SAMPLE)
  change(tables, 'enrolments', 'courseStartDate', toLocalDate)
  change(tables, 'courses', 'eftsFactor', (value) => value.replace('.', ','))
  change(tables, 'enrolments', 'sourceOfFunding', (value) => value.replace(/^0+(?=\d)/, ''))
  change(tables, 'course-completions', 'courseCode', (value) => `${value} `)
  change(tables, 'enrolments', 'attendance', (value, row) =>
    row.qualificationCode === MADE_UP ? '1' : value,
  )
  change(tables, 'courses', 'learningHours', (value, row) =>
    row.qualificationCode === 'FQ0008' ? '#N/A' : value,
  )
  tables.courses = tables.courses.filter((row) => row.courseCode !== FORGOTTEN)
  const [twice = {}] = tables.learners.slice(120, 121)
  tables.learners.splice(240, 0, { ...twice, localId: 'L0000999' })
  tables.learners.push({}, {}, {})
  return {
    'learners.csv': `\ufeff${render('learners', tables)}`,
    // In Windows-1252: titles have an é.
    'courses.csv': Buffer.from(render('courses', tables, ';'), 'latin1'),
    'enrolments.csv': render('enrolments', tables),
    'course-completions.csv': render('course-completions', tables),
    // Nobody exported the qualification completions.
  }
}

function change(
  tables: Tables,
  file: FileName,
  field: string,
  replace: (value: string, row: Row) => string,
): void {
  for (const row of tables[file]) {
    const value = row[field] ?? ''
    if (value !== '') row[field] = replace(value, row)
  }
}

function toLocalDate(date: string): string {
  const [year, month, day] = date.split('-')
  return `${day}/${month}/${year}`
}

function render(file: FileName, tables: Tables, separator?: string): string {
  return renderTable(file, tables[file], separator).replaceAll('\n', '\r\n')
}
