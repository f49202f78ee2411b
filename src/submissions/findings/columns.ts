import { detectSeparator, splitRecord } from '../../engines/records/index.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { FileGone, nameFile, readChunks } from '../files/file-store.ts'
import type { FinishedRun } from '../submission/runs.ts'
import type { PublishedFinding } from './schema.ts'

/** The columns of a CSV file, in the order of the texts of its records. */
interface FileColumns {
  readonly fileType: string
  /** Its name, as its findings have it: several files can be of one kind. */
  readonly file: string
  readonly columns: string[]
}

/** The longest header row, in bytes: the records of a file with a longer one are only text. */
const LONGEST_HEADER = 16_384

/** The columns of the files with these findings, as far as the files that were checked are still stored. */
export async function readColumns(
  reader: Reader,
  sealer: Sealer,
  { run, summary }: FinishedRun,
  findings: readonly PublishedFinding[],
): Promise<FileColumns[]> {
  const wanted = new Set(
    findings.flatMap(({ file, recordText = '{' }) => (recordText.startsWith('{') ? [] : [file])),
  )
  const found: FileColumns[] = []
  for (const { resource, fileType } of summary.files ?? []) {
    const stored = run.files.find((each) => each.resource === resource && each.format === 'csv')
    if (stored === undefined) continue
    const file = nameFile(stored)
    if (!wanted.has(file)) continue
    const columns = await readHeader(readChunks(reader, sealer, stored))
    if (columns !== undefined) found.push({ fileType, file, columns })
  }
  return found
}

async function readHeader(chunks: AsyncIterable<Buffer>): Promise<string[] | undefined> {
  try {
    for await (const content of chunks) {
      const start = content.toString('utf8', 0, LONGEST_HEADER).replace(/^\ufeff/, '')
      const end = start.search(/\r?\n/)
      const header = start.slice(0, end)
      return end < 0 ? undefined : splitRecord(header, detectSeparator(header))
    }
  } catch (error) {
    if (!(error instanceof FileGone)) throw error
  }
  return undefined
}
