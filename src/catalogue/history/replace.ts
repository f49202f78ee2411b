import type { SourceRecord } from '../../engines/records/index.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { InputRefused, refuse } from '../../foundation/faults/faults.ts'
import { quote } from '../../foundation/text/quote.ts'
import { importOccupations } from '../import/import.ts'
import type { RecordChange } from './preview.ts'
import { readRemoved } from './replacements.ts'
import type { Retention } from './revision-log.ts'

export interface ReplaceOptions {
  readonly dryRun?: boolean
  readonly retention?: Retention
  readonly onWait?: () => void
}

export interface ReplaceSummary {
  readonly occupationCode: string
  readonly replacedBy: readonly string[]
  /** Whether the catalogue still contained the record, which was removed. */
  readonly removed: boolean
  /** Of a dry run: the record that would be removed, if there is one. */
  readonly changes?: readonly RecordChange[]
}

/**
 * Sets the codes that replace another code, and removes that code if the catalogue still contains it.
 *
 * @throws {InputRefused} if the catalogue never contained one of the codes, or if they lead back to the first
 */
export async function replaceCode(
  database: Database,
  code: string,
  by: readonly string[],
  options: ReplaceOptions = {},
): Promise<ReplaceSummary> {
  const known = await database.get<{ code: string }>('select code from occupation where code = $1', [code])
  if (known === undefined && (await readRemoved(database, code)) === undefined) {
    refuse({
      message: `The catalogue neither has nor had the code ${quote(code)}${await suggestCode(database, code)}`,
    })
  }
  const records = oneRecord({ occupationCode: code, replacedBy: by })
  const { deleted, changes } = await importOccupations(database, records, {
    ...options,
    origin: () => ({ command: `replace ${code} --by ${by.join(' ')}`, files: [] }),
  }).catch((error: unknown) => {
    // The faults have no file here.
    if (!(error instanceof InputRefused)) throw error
    throw new InputRefused(error.faults.map(({ message }) => ({ field: '--by', message })))
  })
  return {
    occupationCode: code,
    replacedBy: by,
    removed: deleted > 0,
    ...(changes !== undefined && { changes }),
  }
}

async function* oneRecord(value: unknown): AsyncGenerator<SourceRecord> {
  yield { file: 'replace', line: 1, value }
}

/** Suggests the nearest code at or after one that does not exist, as the end of a sentence. */
async function suggestCode(reader: Reader, code: string): Promise<string> {
  const next = await reader.get<{ code: string }>(
    'select code from occupation where code >= $1 order by code limit 1',
    [code],
  )
  return next === undefined ? '' : `; the next code is ${quote(next.code)}`
}
