// ZIP archives and workbooks (XLSX are ZIP archives too), as far as the page looks into them before they are sent.

/** What is larger, uncompressed, is not looked into here. */
const MOST_BYTES = 256 * 1024 * 1024

const number = (view, at, bytes) => (bytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true))
const viewOf = async (blob, from, to) => new DataView(await blob.slice(from, to).arrayBuffer())

/** The entries of an archive by name; `undefined` if it is encrypted, in parts, or too large to look into. */
export async function readArchive(file) {
  const from = Math.max(0, file.size - 66_000)
  const tail = await viewOf(file, from)
  let end = tail.byteLength - 22
  while (end >= 0 && number(tail, end, 4) !== 0x06054b50) end--
  if (end < 0) return undefined
  const [size, start] = [number(tail, end + 12, 4), number(tail, end + 16, 4)]
  if (start === 0xffffffff) return undefined
  const directory = await viewOf(file, start, start + size)
  const entries = new Map()
  let bytes = 0
  for (let at = 0; at + 46 <= directory.byteLength && number(directory, at, 4) === 0x02014b50; ) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => number(directory, at + offset, 2))
    const raw = new Uint8Array(directory.buffer, at + 46, name)
    const [flags, method] = [number(directory, at + 8, 2), number(directory, at + 10, 2)]
    const [crc, packed, size, local] = [16, 20, 24, 42].map((offset) => number(directory, at + offset, 4))
    bytes += size
    if (flags & 1 || bytes > MOST_BYTES || (method !== 0 && method !== 8)) return undefined
    entries.set(new TextDecoder().decode(raw), { raw, flags, method, crc, packed, size, local })
    at += 46 + name + extra + comment
  }
  return entries
}

/** The bytes of an entry as they are in the archive. */
async function rawOf(file, { local, packed }) {
  const head = await viewOf(file, local, local + 30)
  const start = local + 30 + number(head, 26, 2) + number(head, 28, 2)
  return file.slice(start, start + packed)
}

/** The content of an entry. */
export async function unpack(file, entry) {
  const raw = await rawOf(file, entry)
  if (entry.method === 0) return raw
  return await new Response(raw.stream().pipeThrough(new DecompressionStream('deflate-raw'))).blob()
}

const textOf = async (file, entry) => (entry ? await (await unpack(file, entry)).text() : '')

const readEntities = (text) =>
  text.replace(
    /&(?:lt|gt|quot|apos|amp);/g,
    (each) => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" })[each] ?? '&',
  )
const attribute = (tag, name) => readEntities(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '')

const WORKBOOK = 'xl/workbook.xml'

/** The tags of a text, each with its name, its attributes, and what follows it. */
function* readTags(xml) {
  for (const piece of xml.split('<').slice(1)) {
    const [tag, , name] = /^(\/?)(?:\w+:)?(\w+)(?:[^>"]|"[^"]*")*/.exec(piece) ?? [piece, '', '']
    yield { tag, name: tag.startsWith('/') ? '' : name, text: piece.slice(tag.length + 1) }
  }
}

const tagsOf = (xml, wanted) => [...readTags(xml)].flatMap(({ name, tag }) => (name === wanted ? [tag] : []))

/** The sheets of a workbook, each with its first lines, its records, and the workbook with no other sheet. */
export async function readSheets(file, entries) {
  const workbook = await textOf(file, entries.get(WORKBOOK))
  const links = await textOf(file, entries.get('xl/_rels/workbook.xml.rels'))
  const paths = new Map(
    tagsOf(links, 'Relationship').map((tag) => [attribute(tag, 'Id'), attribute(tag, 'Target')]),
  )
  const shared = []
  for (const { name, text } of readTags(await textOf(file, entries.get('xl/sharedStrings.xml')))) {
    if (name === 'si') shared.push('')
    if (name === 't') shared[shared.length - 1] += readEntities(text)
  }
  const tags = tagsOf(workbook, 'sheet')
  return await Promise.all(
    tags.map(async (tag) => {
      const path = (paths.get(attribute(tag, 'r:id')) ?? '').replace(/^\/?(?:xl\/)?/, 'xl/')
      const rows = (await textOf(file, entries.get(path))).split(/<row[\s>]/).slice(1)
      const filled = rows.filter(isFilled)
      const isOther = (piece) => tags.some((each) => each !== tag && piece.startsWith(each))
      const others = workbook.split('<').filter((piece) => !isOther(piece))
      return {
        name: attribute(tag, 'name'),
        lines: filled.slice(0, 10).map((row) => readCells(row, shared)),
        rows: filled.length,
        // The server reads a workbook with one sheet as one file.
        content: async () =>
          tags.length === 1 ? file : await replaceEntry(file, entries, WORKBOOK, others.join('<')),
      }
    }),
  )
}

function isFilled(row) {
  if (/<v>[^<]/.test(row)) return true
  for (const { name, text } of readTags(row)) if ((name === 'v' || name === 't') && text !== '') return true
  return false
}

/** The text of the cells of a row. */
function readCells(row, shared) {
  const cells = []
  for (const { name, tag, text } of readTags(row)) {
    const cell = cells.at(-1)
    if (name === 'c') cells.push({ isShared: /\st="s"/.test(tag), text: '' })
    else if (cell && (name === 't' || name === 'v')) cell.text += readEntities(text)
  }
  return cells.map(({ isShared, text }) => (isShared ? (shared[Number(text)] ?? '') : text))
}

/** An archive in which one entry has another text. */
async function replaceEntry(file, entries, replaced, text) {
  const [parts, directory] = [[], []]
  let at = 0
  for (const [name, entry] of entries) {
    const own = new TextEncoder().encode(text)
    const isReplaced = name === replaced
    const { raw, flags, method, crc, packed, size } = isReplaced
      ? { ...entry, method: 0, crc: checksum(own), packed: own.length, size: own.length }
      : entry
    const content = isReplaced ? own : await rawOf(file, entry)
    // The sizes are in front of the content, not behind it.
    const shared = [
      [20, 2],
      [flags & ~8, 2],
      [method, 2],
      [0, 4],
      [crc, 4],
      [packed, 4],
      [size, 4],
      [raw.length, 2],
      [0, 2],
    ]
    const local = pack([[0x04034b50, 4], ...shared])
    directory.push(pack([[0x02014b50, 4], [20, 2], ...shared, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), raw)
    parts.push(local, raw, content)
    at += local.length + raw.length + packed
  }
  const length = directory.reduce((sum, each) => sum + each.length, 0)
  const count = [
    [entries.size, 2],
    [entries.size, 2],
  ]
  return new Blob([
    ...parts,
    ...directory,
    pack([[0x06054b50, 4], [0, 4], ...count, [length, 4], [at, 4], [0, 2]]),
  ])
}

/** Numbers in the order of bytes of ZIP. */
function pack(fields) {
  const bytes = fields.flatMap(([value, size]) =>
    Array.from({ length: size }, (_, at) => (value >>> (8 * at)) & 255),
  )
  return Uint8Array.from(bytes)
}

/** CRC-32, as ZIP has it. */
function checksum(bytes) {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}
