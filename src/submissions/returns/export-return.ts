import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { explainFileError } from '../../foundation/command-line/output-file.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { fail, UserError } from '../../foundation/faults/user-error.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { readReceipt } from '../explanations/receipt.ts'
import { readCurrentFile } from '../files/current-file.ts'
import { writeNew } from '../files/disk-file.ts'
import { countsFirst } from '../submission/counts-first.ts'
import { listFiles } from '../submission/submission.ts'
import { listReturns } from './returns.ts'

interface ExportOptions {
  readonly returnId: string
  /** A folder that does not exist yet, or is empty. */
  readonly output: string
  readonly sealer: Sealer
}

interface ExportedFile {
  /** Below the folder of the export. */
  readonly path: string
  readonly file: string
  readonly records: number
  readonly sha256: string
}

interface Exported {
  readonly returnId: string
  readonly organisations: readonly {
    readonly eid: string
    readonly dateSubmitted: string
    readonly receipt: number | undefined
    readonly files: readonly ExportedFile[]
  }[]
}

/**
 * Writes the submitted files of all organisations byte for byte, into a folder for each, and a list of them. All of it is
 * of one moment, whatever is submitted meanwhile. Each file must have the digest that its receipt states.
 *
 * @throws {UserError} and leaves nothing behind
 */
export async function exportReturn(database: Database, options: ExportOptions): Promise<Exported> {
  const { output } = options
  const folder = `${output}.partial-${process.pid}`
  try {
    if (existsSync(output) && readdirSync(output).length > 0)
      fail({ field: '--output', message: 'names a folder that has files. Name a new one' })
    makeFolder(folder, 0o700)
    const exported = await database.snapshot((reader) => writeAll(reader, folder, options))
    if (existsSync(output)) rmdirSync(output)
    await rename(folder, output)
    return exported
  } catch (error) {
    throw explainFileError(error, output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeAll(
  reader: Reader,
  folder: string,
  { returnId, sealer }: ExportOptions,
): Promise<Exported> {
  const organisations: Exported['organisations'][number][] = []
  for (const { eid, token, time } of await listSubmitted(reader, returnId)) {
    const receipt = await readReceipt(reader, token, sealer)
    const own = encodeURIComponent(eid).replace(/^\./, '%2E')
    makeFolder(join(folder, own), 0o700)
    const stored = await listFiles(reader, token)
    const files: ExportedFile[] = []
    for (const { file = '', records = 0, sha256 = '' } of receipt?.files ?? []) {
      const found = stored.find(({ resource }) => resource === file)
      if (found === undefined)
        throw new UserError(
          `the file ${file} of organisation ${eid} is no longer stored: RETENTION_FILES_DAYS has passed`,
        )
      const path = `${own}/${file}.${found.format}`
      const content = readCurrentFile(reader, sealer, found)
      const written = await writeNew(join(folder, path), content, { flush: true })
      if (written.sha256 !== sha256)
        throw new UserError(`the file ${file} of organisation ${eid} is not the one of its receipt`)
      files.push({ path, file, records, sha256 })
    }
    organisations.push({ eid, dateSubmitted: formatTimestamp(time), receipt: receipt?.receipt, files })
  }
  if (organisations.length === 0) {
    const known = await listReturns(reader)
    // Without any returns, the service collects every one.
    if (known.length > 0 && !known.some((each) => each.returnId === returnId))
      throw new UserError(
        `the service does not collect the return ${returnId}: "mahi returns list" lists those that it collects`,
      )
    throw new UserError(`nobody has submitted the return ${returnId} yet`)
  }
  const exported = { returnId, organisations }
  await writeFile(join(folder, 'submitted.json'), `${JSON.stringify(exported, null, 2)}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  })
  return exported
}

/** The last submitted submission of each organisation, by EID. */
async function listSubmitted(reader: Reader, returnId: string) {
  const rows = await reader.all<{ token: string; eid: string; time: number }>(
    `select token, eid, ended_at as time from submission
     where return_id = $1 and ended = 'Submitted' and created is not null
     order by eid, ${countsFirst('submission')}`,
    [returnId],
  )
  return rows.filter(({ eid }, at) => rows[at - 1]?.eid !== eid)
}
