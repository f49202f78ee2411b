import { readArchive, readSheets, unpack } from './containers.js'

/** What cannot be sent, and why. */
export const refuse = (name, problem) => ({ name, problem })

const STARTS = [
  ['%PDF', 'It is a PDF. Export the table from the program that made it, as CSV or XLSX.'],
  [
    '\u00d0\u00cf\u0011\u00e0',
    'It is a workbook in the old format (.xls), or one with a password. Save it as XLSX without a password.',
  ],
]

const FORMATS = [
  [/^content\.xml$/, 'It is an OpenDocument file (.ods). Save it as CSV or XLSX.'],
  [/^Index\/.*\.iwa$|^Index\.zip$/, 'It is a Numbers file. Export it as CSV or XLSX.'],
  [/^word\//, 'It is a Word document. Copy its table into a workbook, and save that as XLSX.'],
  [/^xl\/workbook\.bin$/, 'It is a binary workbook (.xlsb). Save it as XLSX.'],
]

/** What is no data, by its path, as in `src/engines/checking/definition/is-file.ts`. */
const JUNK = /(?:^|\/)(?:__MACOSX|\.[^/]*|~\$[^/]*|Thumbs\.db)(?:\/|$)/i

/** How the columns begin that `mahi check --mark` adds, as in `src/engines/checking/engine/columns.ts`. */
const MARK = 'mahi:'

/** What a file contains: itself, its sheets, or its files. */
export async function inspect(file, kinds, name = file.name) {
  const known = new Set(kinds.flatMap(({ columns }) => columns.map(plain)))
  const start = new Uint8Array(await file.slice(0, 65_536).arrayBuffer())
  const magic = String.fromCharCode(...start.subarray(0, 4))
  if (file.size === 0) return [refuse(name, 'It is empty.')]
  if (JUNK.test(name)) return [refuse(name, 'It is a hidden file of a program, without data.')]
  for (const [begin, problem] of STARTS) if (magic.startsWith(begin)) return [refuse(name, problem)]
  if (magic === 'PK\u0003\u0004') {
    const entries = await readArchive(file)
    if (entries === undefined) return [{ name, blob: file, type: 'application/octet-stream', isWhole: true }]
    const names = [...entries.keys()]
    for (const [part, problem] of FORMATS)
      if (names.some((each) => part.test(each))) return [refuse(name, problem)]
    if (entries.has('xl/workbook.xml')) {
      const sheets = await readSheets(file, entries)
      const isMarked = sheets.some(({ lines: [[first = ''] = []] }) => first.startsWith(MARK))
      return sheets.map(({ name: sheet, lines, rows, content }) => {
        const { header, ...described } = describe(lines, known)
        return {
          ...described,
          isSummary: isMarked && /^summary$/i.test(sheet),
          name: `${name}/${sheet}`,
          records: Math.max(0, rows - header - 1),
          content,
          type: 'application/octet-stream',
        }
      })
    }
    const own = [...entries].filter(([each]) => !each.endsWith('/') && !JUNK.test(each))
    const found = await Promise.all(
      own.map(async ([each, entry]) => inspect(await unpack(file, entry), kinds, `${name}/${each}`)),
    )
    return found.flat()
  }
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  const content = isGzip ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()
  const { text, lines, charset, sum } = await scan(content)
  if (text.includes('\u0000'))
    return [refuse(name, 'It is not a table. Send CSV, NDJSON, a ZIP archive or a workbook (XLSX).')]
  const shared = { name, blob: file, ...(isGzip && { encoding: 'gzip' }) }
  if (/^\s*\{/.test(text))
    return [
      {
        ...shared,
        records: lines,
        type: 'application/x-ndjson',
        columns: [...text.split('\n')[0].matchAll(/"(\w+)"\s*:/g)].map(([, key]) => key),
      },
    ]
  const first = text.split(/\r\n|\r|\n/, 10).map(splitLine)
  const { header, ...described } = describe(first, known)
  const tail = isGzip ? '' : await file.slice(-4_096).text()
  const last = tail
    .trimEnd()
    .split(/[\r\n]/)
    .at(-1)
  const hasTotal = /^"?(?:grand |sub)?total\b/i.test(last)
  const notes = [
    ...described.notes,
    ...(hasTotal ? ['The last line is a total. Delete it before you send the file.'] : []),
  ]
  const line = /^.*(?:\r\n|\r|\n)/.exec(text)?.[0] ?? ''
  const canJoin = header === 0 && !isGzip && !hasTotal
  return [
    {
      ...shared,
      ...described,
      notes,
      records: Math.max(0, lines - header - 1),
      type: 'text/csv',
      ...(canJoin && { header: line, charset, sum }),
    },
  ]
}

/** The first characters of a text, its lines outside of quotes, its encoding (UTF-8 if it can be that), and a checksum. */
async function scan(stream) {
  let [size, lines, quoted, last, charset, decoder, sum] = [0, 0, false, 10, 'utf-8', undefined, 0]
  const head = []
  const read = (bytes) => {
    try {
      decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      charset = 'windows-1252'
    }
  }
  const reader = stream.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (decoder === undefined) {
      const [one, two] = part.value
      if (one === 0xff && two === 0xfe) charset = 'utf-16le'
      if (one === 0xfe && two === 0xff) charset = 'utf-16be'
      decoder = new TextDecoder('utf-8', { fatal: true })
    }
    if (charset === 'utf-8') read(part.value)
    if (size < 65_536) head.push(part.value)
    size += part.value.length
    for (const byte of part.value) {
      sum = (Math.imul(sum, 31) + byte) | 0
      if (byte === 34) quoted = !quoted
      // An empty line is no record, and a line end of two characters is one.
      if (!quoted && (byte === 10 || byte === 13) && last !== 10 && last !== 13) lines++
      if (byte !== 0) last = byte
    }
  }
  if (charset === 'utf-8') read()
  const text = new TextDecoder(charset).decode(await new Blob(head).arrayBuffer()).slice(0, 65_536)
  return { text, charset, sum, lines: lines + (last === 10 || last === 13 ? 0 : 1) }
}

function splitLine(line) {
  const separator = [',', ';', '\t', '|'].reduce((one, other) =>
    line.split(other).length > line.split(one).length ? other : one,
  )
  return line.split(separator).map((cell) => cell.replace(/^\s*"|"\s*$/g, ''))
}

/** Spellings with spaces, hyphens, underscores and capitals are one name. */
const plain = (name) => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')

const TITLE = 'The first line is not the header. Delete what is above the header before you send the file.'

/** The columns of the first lines, of which the first may be a title. */
function describe(lines, known) {
  const hits = lines.map((cells) => cells.filter((cell) => known.has(plain(cell))).length)
  const header = Math.max(0, hits.indexOf(Math.max(0, ...hits)))
  return { header, columns: lines[header] ?? [], notes: header > 0 ? [TITLE] : [] }
}

const EXTENSION = /^(?:csv|tsv|txt|ndjson|gz|zip|xls[xm])$/i

/** The kind of an item, by its columns and then by its name; `-` for none of them, empty if nothing says it. */
export function recognise({ name, columns = [], isSummary }, kinds) {
  // Mahi writes this sheet, and the list of changes beside corrected files, and ignores them.
  if (isSummary || /(?:^|\/)mahi-changes\.csv$/.test(name)) return '-'
  const own = new Set(columns.map(plain))
  const scores = kinds.map(({ file, columns }) => ({
    file,
    score: columns.filter((each) => own.has(plain(each))).length / Math.max(1, columns.length),
  }))
  const best = scores.reduce((one, other) => (other.score > one.score ? other : one))
  if (best.score >= 0.5) return best.file
  const parts = name.split('/').at(-1).split('.')
  while (parts.length > 1 && EXTENSION.test(parts.at(-1))) parts.pop()
  const base = plain(parts.join('.'))
  return kinds.find(({ names }) => names.some((each) => base.includes(plain(each))))?.file ?? ''
}
