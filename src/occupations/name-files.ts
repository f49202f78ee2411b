import Type from 'typebox'
import { listColumns } from '../input/csv-columns.ts'
import { FaultList, isFault } from '../input/faults.ts'
import { compileShape, SINGLE_LINE } from '../input/shape.ts'
import type { SourceRecord } from '../input/source-record.ts'
import type { Fault } from '../text/user-error.ts'
import { MAX_CODE_LENGTH } from './schema.ts'
import { MAX_SEARCH_NAME_LENGTH, type SearchLanguage, type SearchOnlyName } from './search-names.ts'

/** A line of a file of search-only names. */
const NameRecord = Type.Object({
  occupationCode: Type.String({ maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE }),
  name: Type.String({ maxLength: MAX_SEARCH_NAME_LENGTH, pattern: SINGLE_LINE }),
  language: Type.Optional(Type.Unsafe<SearchLanguage>({ type: 'string', enum: ['en', 'mi'] })),
})
export const NAME_COLUMNS = listColumns(NameRecord)

const readName = compileShape(NameRecord)

/**
 * Reads search-only names by code. Names without a language are English.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readNames(
  records: AsyncIterable<SourceRecord | Fault>,
): Promise<Map<string, SearchOnlyName[]>> {
  const faults = new FaultList()
  const names = new Map<string, SearchOnlyName[]>()
  for await (const record of records) {
    if (isFault(record)) faults.add([record])
    else {
      const { file, line } = record
      const reading = readName(record.value)
      faults.add([...(record.faults ?? []), ...reading.faults.map((fault) => ({ file, line, ...fault }))])
      if (reading.value !== undefined && reading.faults.length === 0) addName(names, reading.value)
    }
    if (faults.truncated) break
  }
  faults.throwIfFound()
  return names
}

function addName(names: Map<string, SearchOnlyName[]>, value: unknown): void {
  const {
    occupationCode,
    name,
    language = 'en',
  } = value as {
    occupationCode: string
    name: string
    language?: SearchLanguage
  }
  const list = names.get(occupationCode) ?? []
  list.push({ text: name, language })
  names.set(occupationCode, list)
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
