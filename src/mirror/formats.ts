import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import { pick } from '../input/csv-columns.ts'
import { OCCUPATION_COLUMNS } from '../occupations/export.ts'
import { FILE, readLines, replaceLines } from './copy.ts'

/** The forms in which a mirror keeps its copy; the NDJSON is there whatever else is. */
export const FORMATS = ['ndjson', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

/**
 * Writes the copy in another form beside it, where it has changed or the form is not there yet.
 *
 * @returns the file's path
 */
export async function writeFormat(folder: string, format: Format, changed: boolean): Promise<string> {
  const source = join(folder, FILE)
  if (format === 'ndjson') return source
  const target = join(folder, `occupations.${format}`)
  if (changed || !existsSync(target))
    await replaceLines(target, format === 'json' ? asJson(source) : asCsv(source))
  return target
}

async function* asJson(source: string): AsyncGenerator<string> {
  let before = '['
  for await (const { text } of readLines(source)) {
    yield before
    before = `${text},`
  }
  if (before === '[') yield before
  else yield before.slice(0, -1)
  yield ']'
}

async function* asCsv(source: string): AsyncGenerator<string> {
  yield toRow(OCCUPATION_COLUMNS.map(({ name }) => name))
  for await (const { text } of readLines(source)) {
    const record: unknown = JSON.parse(text)
    yield toRow(
      OCCUPATION_COLUMNS.map(({ path, write }) => {
        const value = pick(record, path)
        return value === undefined ? '' : write(value)
      }),
    )
  }
}

function toRow(cells: readonly string[]): string {
  return stringify([cells]).trimEnd()
}
