import type { SourceRecord } from '../../engines/records/index.ts'
import { listColumns, readFromSpreadsheet } from '../../engines/records/index.ts'
import { FaultList } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { compileSchema, SINGLE_LINE } from '../../foundation/schema/compile.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { type RepairedRows, readRows } from '../records/read-rows.ts'
import { MAX_CODE_LENGTH } from '../records/schema.ts'
import { MAX_SEARCH_NAME_LENGTH, type SearchLanguage, type SearchOnlyName } from './names.ts'

/** A line of a file of search-only names. */
const NameRecord = Type.Object({
  occupationCode: Type.String({ maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE }),
  name: Type.String({ maxLength: MAX_SEARCH_NAME_LENGTH, pattern: SINGLE_LINE }),
  language: Type.Optional(Type.Unsafe<SearchLanguage>({ type: 'string', enum: ['en', 'mi'] })),
})
export const NAME_COLUMNS = listColumns(NameRecord)

const readName = compileSchema(NameRecord, { repair: true })

/** A name as read, and the places of its fields in the file. */
export interface ReadName extends SearchOnlyName {
  readonly occupationCode: string
  readonly locate: (field: 'occupationCode' | 'name') => Omit<Fault, 'message'>
}

export interface ReadNames {
  readonly names: readonly ReadName[]
  readonly repaired: RepairedRows<Static<typeof NameRecord>>
}

/**
 * Reads search-only names. Names without a language are English.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readNames(records: AsyncIterable<SourceRecord | Fault>): Promise<ReadNames> {
  const { rows, repaired } = await readRows<Static<typeof NameRecord>>(records, readName)
  const names = rows.map(({ value: { occupationCode, name, language = 'en' }, locate }) => ({
    occupationCode,
    text: readFromSpreadsheet(name),
    language,
    locate,
  }))
  return { names, repaired }
}

/**
 * Reads a list of synonyms: each line has phrases of the same meaning, separated by `=`. Empty lines and text after
 * `#` are ignored.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export function readSynonymLines(file: string, text: string): string[][] {
  const faults = new FaultList()
  const lists: string[][] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const content = (line.split('#', 1)[0] ?? '').trim()
    if (content === '') continue
    const phrases = content.split('=').map((phrase) => phrase.trim().normalize('NFC'))
    if (phrases.length > 1 && phrases.every((phrase) => phrase !== '')) lists.push(phrases)
    else {
      const message = 'must have at least two phrases separated by "=", such as "lorry = truck"'
      faults.add([{ file, line: index + 1, message }])
    }
  }
  faults.throwIfFound()
  return lists
}
