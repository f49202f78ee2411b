import { CsvSplitter, readCells, renderCell } from './csv-records.ts'
import { type FileForm, toCell } from './current-file.ts'
import { Refusal } from './refusal.ts'

/** The most fields of an NDJSON file that become columns: each record has all of them. */
const MOST_COLUMNS = 2_000

type Content = AsyncIterable<Buffer>

/** Characters that are sent at once: a short record can become long when it gets the names of its columns. */
const SENT = 65_536

/** Converts a CSV file to NDJSON: each record with its non-empty values, as strings. */
export async function* csvToNdjson(content: Content): AsyncGenerator<Buffer> {
  const splitter = new CsvSplitter()
  let names: string[] | undefined
  let text = ''
  const render = function* (records: Iterable<string>): Generator<Buffer> {
    for (const record of records) {
      const cells = readCells(record, splitter.separator) ?? []
      if (names === undefined) {
        names = cells.map((cell) => cell.trim())
        continue
      }
      const known = names
      const members = cells.flatMap((cell, index) => {
        const name = known[index]
        return cell === '' || name === undefined || name === '' ? [] : [[name, cell]]
      })
      text += `${JSON.stringify(Object.fromEntries(members))}\n`
      if (text.length < SENT) continue
      yield Buffer.from(text)
      text = ''
    }
  }
  for await (const chunk of content) yield* render(splitter.push(chunk))
  yield* render(splitter.end())
  if (text !== '') yield Buffer.from(text)
}

/**
 * Converts an NDJSON file to CSV. The columns are the fields in use, those of the definition first.
 *
 * @param open opens the content, which is read twice
 */
export async function* ndjsonToCsv(open: () => Content, { fields }: FileForm): AsyncGenerator<Buffer> {
  const used = new Set<string>()
  for await (const record of readRecords(open())) {
    for (const name of Object.keys(record)) used.add(name)
    if (used.size > MOST_COLUMNS) {
      throw new Refusal(
        'conflict',
        `The file has more than ${MOST_COLUMNS} fields. It is available as NDJSON only.`,
      )
    }
  }
  const delimiters = new Map(fields.map(({ name, delimiter }) => [name, delimiter]))
  const names = [...fields.map(({ name }) => name).filter((name) => used.has(name)), ...used]
  const columns = [...new Set(names)]
  let text = `${columns.map((name) => renderCell(name, ',')).join(',')}\r\n`
  for await (const record of readRecords(open())) {
    const cells = columns.map((name) => renderCell(toCell(record[name], delimiters.get(name) ?? ';'), ','))
    text += `${cells.join(',')}\r\n`
    if (text.length < SENT) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

async function* readRecords(content: Content): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of content) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Record<string, unknown>
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as Record<string, unknown>
}
