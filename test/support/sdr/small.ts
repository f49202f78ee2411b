import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeCourses, makeGroups, type Size } from './clean.ts'
import { type FileName, formatRow, type Row, readFiles } from './columns.ts'

/** The records of a return by file. */
export type Tables = Record<FileName, Row[]>

/** Large enough for a learner and a course of each kind. */
const SMALL: Size = { seed: 5, learners: 40, courses: 40, enrolments: 150 }

/** A clean return, to be changed. */
export function makeTables(size: Size = SMALL): Tables {
  const courses = makeCourses(size)
  const groups = [...makeGroups(size, courses)]
  return {
    learners: groups.map(({ learner }) => learner),
    courses: courses.map(({ row }) => row),
    enrolments: groups.flatMap(({ enrolments }) => enrolments),
    'course-completions': groups.flatMap(({ completions }) => completions),
    'qualification-completions': groups.flatMap(({ qualifications }) => qualifications),
  }
}

const FIELDS = new Map(readFiles().map(({ name, fields }) => [name, fields.map((field) => field.name)]))

/** The text of a file of a return. */
export function renderTable(name: FileName, rows: readonly Row[], separator = ','): string {
  const columns = FIELDS.get(name) ?? []
  return `${columns.join(separator)}\n${rows.map((row) => formatRow(columns, row, separator)).join('')}`
}

/** Writes the files of a return, without those that are not given. */
export function writeReturn(folder: string, tables: Partial<Tables>): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, rows] of Object.entries(tables) as [FileName, Row[]][])
    writeFileSync(join(folder, `${name}.csv`), renderTable(name, rows))
}
