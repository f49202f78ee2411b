import { CsvSplitter, readCells, renderCell } from './csv-records.ts'
import { type FileForm, toCell } from './current-file.ts'

type Content = AsyncIterable<Buffer>

/** A CSV file as NDJSON: each record with the values that are not empty, as texts. */
export async function* csvToNdjson(content: Content): AsyncGenerator<Buffer> {
  const splitter = new CsvSplitter()
  let names: string[] | undefined
  const render = (records: Iterable<string>): string => {
    let text = ''
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
    }
    return text
  }
  for await (const chunk of content) {
    const text = render(splitter.push(chunk))
    if (text !== '') yield Buffer.from(text)
  }
  const text = render(splitter.end())
  if (text !== '') yield Buffer.from(text)
}

/**
 * An NDJSON file as CSV. Its columns are the fields that it uses, those of the definition first.
 *
 * @param open opens the content: it is read twice
 */
export async function* ndjsonToCsv(open: () => Content, { fields }: FileForm): AsyncGenerator<Buffer> {
  const used = new Set<string>()
  for await (const record of readRecords(open())) for (const name of Object.keys(record)) used.add(name)
  const delimiters = new Map(fields.map(({ name, delimiter }) => [name, delimiter]))
  const names = [...fields.map(({ name }) => name).filter((name) => used.has(name)), ...used]
  const columns = [...new Set(names)]
  let text = `${columns.map((name) => renderCell(name, ',')).join(',')}\r\n`
  for await (const record of readRecords(open())) {
    const cells = columns.map((name) => renderCell(toCell(record[name], delimiters.get(name) ?? ';'), ','))
    text += `${cells.join(',')}\r\n`
    if (text.length < 65_536) continue
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
