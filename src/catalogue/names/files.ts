import Type, { type Static } from 'typebox'
import type { SourceRecord } from '../../engines/records/index.ts'
import { listColumns } from '../../engines/records/index.ts'
import { FaultList, isFault, MAX_FAULTS } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { compileSchema, SINGLE_LINE } from '../../foundation/schema/compile.ts'
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

/** A name as read, and the place of its code in the file. */
export interface ReadName extends SearchOnlyName {
  readonly occupationCode: string
  readonly place: Omit<Fault, 'message'>
}

/**
 * Reads search-only names. Names without a language are English.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readNames(records: AsyncIterable<SourceRecord | Fault>): Promise<ReadName[]> {
  const faults = new FaultList()
  const doubts: Fault[] = []
  const names: ReadName[] = []
  let repaired = false
  for await (const record of records) {
    if (isFault(record)) faults.add([record])
    else {
      const { file, line } = record
      const locate = (field: string) => ({ file, line, field, ...record.locate?.(field) })
      const reading = readName(record.value)
      const place = ({ field, message }: { field: string; message: string }) => ({
        ...locate(field),
        message,
      })
      faults.add([...(record.faults ?? []), ...reading.faults.map(place)])
      if (doubts.length <= MAX_FAULTS) doubts.push(...reading.doubts.map(place))
      if (reading.repaired) repaired = true
      if (reading.value !== undefined && reading.faults.length === 0) {
        const { occupationCode, name, language = 'en' } = reading.value as Static<typeof NameRecord>
        names.push({ occupationCode, text: name, language, place: locate('occupationCode') })
      }
    }
    if (faults.truncated) break
  }
  if (repaired) faults.add(doubts)
  faults.throwIfFound()
  return names
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
    const content = line.replace(/#.*$/, '').trim()
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
