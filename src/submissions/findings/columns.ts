import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { readHeader } from '../files/current-file.ts'
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

const LF = 0x0a

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
    const columns = await readNames(readChunks(reader, sealer, stored))
    if (columns !== undefined) found.push({ fileType, file, columns })
  }
  return found
}

async function readNames(chunks: AsyncIterable<Buffer>): Promise<string[] | undefined> {
  try {
    return await readHeader(takeStart(chunks))
  } catch (error) {
    if (!(error instanceof FileGone)) throw error
    return undefined
  }
}

/** The lines at the start that can be the header. */
async function* takeStart(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LF, LONGEST_HEADER) + 1
    return yield chunk.length > LONGEST_HEADER ? chunk.subarray(0, end) : chunk
  }
}
