import { crc32 } from 'node:zlib'
import { pack } from './pack.ts'

/** A cell: text, a number, a date by its serial number, a number with a format, or raw XML. */
export type XlsxCell =
  | string
  | number
  | { readonly date: number }
  | { readonly number: number; readonly format: string }
  | { readonly xml: string }
  | undefined

/** A spreadsheet in the XLSX format, as programs write it: sheets by name, each a list of rows, and elements before them. */
export function makeXlsx(
  sheets: Readonly<Record<string, readonly (readonly XlsxCell[])[]>>,
  {
    merged = [],
    properties = '',
    references = true,
    edit = (_, text) => text,
  }: {
    readonly merged?: readonly string[]
    readonly properties?: string
    readonly references?: boolean
    /** Changes a part of it, such as `xl/styles.xml`. */
    readonly edit?: (path: string, text: string) => string
  } = {},
): Buffer {
  const names = Object.keys(sheets)
  const cells = Object.values(sheets).flat(2)
  const formats = [
    ...new Set(cells.flatMap((cell) => (typeof cell === 'object' && 'format' in cell ? [cell.format] : []))),
  ]
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
  const packages = 'http://schemas.openxmlformats.org/package/2006'
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
  const files: Record<string, string> = {
    '[Content_Types].xml': `<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${type}.styles+xml"/>${names.map((_, index) => `<Override PartName="/xl/worksheets/sheet${index + 1}.xml" ContentType="${type}.worksheet+xml"/>`).join('')}</Types>`,
    '_rels/.rels': `<Relationships xmlns="${packages}/relationships"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${office}">${properties}<sheets>${names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${packages}/relationships">${names.map((_, index) => `<Relationship Id="rId${index + 1}" Type="${office}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`).join('')}<Relationship Id="rId${names.length + 1}" Type="${office}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${main}"><numFmts count="${formats.length}">${formats.map((format, index) => `<numFmt numFmtId="${200 + index}" formatCode="${escapeXml(format).replaceAll('"', '&quot;')}"/>`).join('')}</numFmts><fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="${2 + formats.length}"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/>${formats.map((_, index) => `<xf numFmtId="${200 + index}" applyNumberFormat="1"/>`).join('')}</cellXfs></styleSheet>`,
  }
  for (const [index, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map((cells, row) => {
      const written = cells.map((cell, column) => writeCell(cell, `${letter(column)}${row + 1}`, formats))
      return `<row r="${row + 1}">${written.join('')}</row>`
    })
    const merges = merged.map((range) => `<mergeCell ref="${range}"/>`).join('')
    files[`xl/worksheets/sheet${index + 1}.xml`] =
      `<worksheet xmlns="${main}"><sheetData>${rows.join('')}</sheetData>${merges === '' ? '' : `<mergeCells>${merges}</mergeCells>`}</worksheet>`
  }
  if (!references)
    for (const [path, content] of Object.entries(files)) files[path] = content.replaceAll(/ r="[A-Z]\d"/g, '')
  return zip(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, edit(path, text)])))
}

const letter = (column: number): string =>
  (column < 26 ? '' : letter(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26))
const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function writeCell(cell: XlsxCell, place: string, formats: readonly string[]): string {
  if (cell === undefined) return ''
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`
  if (typeof cell === 'string') return `<c r="${place}" t="inlineStr"><is><t>${escapeXml(cell)}</t></is></c>`
  if ('format' in cell) {
    return `<c r="${place}" s="${2 + formats.indexOf(cell.format)}"><v>${cell.number}</v></c>`
  }
  return 'date' in cell
    ? `<c r="${place}" s="1"><v>${cell.date}</v></c>`
    : cell.xml.replace('<c', `<c r="${place}"`)
}

/** A spreadsheet with these files as its sheets, compressed, as small as one can be. */
export async function packSheets(sheets: readonly (string | Uint8Array)[]): Promise<Buffer> {
  const named = sheets.map((_, at) => `<sheet name="S${at}" xmlns:r="r" r:id="r${at}"/>`)
  const parts = sheets.map((_, at) => `<Relationship Id="r${at}" Type="t/worksheet" Target="${at}.xml"/>`)
  const packed = await pack({
    '_rels/.rels':
      '<Relationships><Relationship Id="a" Type="t/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    'xl/workbook.xml': `<workbook><sheets>${named.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${parts.join('')}</Relationships>`,
    ...Object.fromEntries(sheets.map((sheet, at) => [`xl/${at}.xml`, sheet])),
  })
  return Buffer.from(packed)
}

/** A ZIP file whose entries are stored as they are. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const [path, content] = [Buffer.from(name), Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${text}`)]
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(content.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, path, content])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), common, rest, path]))
    parts.push(local)
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 0, 'latin1')
  end.writeUInt16LE(directory.length, 8)
  end.writeUInt16LE(directory.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, listed, end])
}
