import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import { OCCUPATION_COLUMNS } from '../catalogue/records/record-schema.ts'
import { pick } from '../engines/records/index.ts'
import { replaceFile } from '../foundation/command-line/output-file.ts'
import { FILE, readLines, readState, writeState } from './copy.ts'

/** The formats of a mirror's copy; the NDJSON file always exists. */
export const FORMATS = ['ndjson', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

/**
 * Writes the copy in another format, unless the file was already written from this copy.
 *
 * @returns the path of the file; the caller holds the lock of the folder
 */
export async function writeFormat(folder: string, format: Format): Promise<string> {
  const source = join(folder, FILE)
  if (format === 'ndjson') return source
  const target = join(folder, `occupations.${format}`)
  const state = await readState(folder)
  if (state !== undefined && state.outputs?.[format] === state.digest && existsSync(target)) return target
  const lines = format === 'json' ? asJson(source) : asCsv(source)
  await replaceFile(target, async (append) => {
    for await (const line of lines) await append(`${line}\n`)
  })
  if (state !== undefined)
    await writeState(folder, { ...state, outputs: { ...state.outputs, [format]: state.digest } })
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
