import type { SaxTag } from '@cj-tech-master/excelts/xml'
import { refuse } from '../../foundation/faults/faults.ts'
import { getOrMake } from '../../foundation/get-or-make.ts'
import { findUtf16 } from './encoding.ts'
import { findFormat } from './file-format.ts'
import { type Cell, GENERAL, type NumberFormat, readCell, readFormat } from './xlsx-values.ts'
import { listEntries, unpackEntry, type ZipEntry } from './zip.ts'

/** The most bytes that the files in a workbook may have together: a small ZIP file can hold gigabytes. */
const MAX_UNPACKED_BYTES = 200 * 1024 * 1024
/** The most cells of a workbook, which take a hundred times the memory of their bytes in a file. */
const MAX_CELLS = 5_000_000
/** The most characters of a sheet: every cell can have the same long text. */
const MAX_CHARACTERS = 2 ** 29
/** The most places of all rows: a row with one cell in the last column has 16,384. */
const MAX_PLACES = 20_000_000
/** What a normal workbook never has, but a small file can. */
const MAX_SHEETS = 500
const MAX_FORMATS = 65_536
/** The longest element, in characters: it can have any number of attributes. A text has at most 32,767. */
const MAX_ELEMENT = 2 ** 20
/** The size of a sheet. */
const MAX_ROWS = 1_048_576
const MAX_COLUMNS = 16_384

/** A workbook cannot be read; the message says why, after its name. */
class WorkbookRefused extends Error {}

const DAMAGED = 'is not a spreadsheet in the XLSX format, or is damaged'

/** A row with cells that are not empty. */
interface SheetRow {
  /** From 1. */
  readonly number: number
  /** Up to the last one that is not empty. */
  readonly cells: readonly Cell[]
}

/** A sheet of a workbook. */
export interface Sheet {
  readonly name: string
  /** @throws {InputRefused} */
  rows(): Generator<SheetRow, void>
}

/**
 * Opens a workbook (ECMA-376) in memory.
 *
 * @param file its name in faults
 * @throws {InputRefused}
 */
export async function openWorkbook(file: string, bytes: Buffer): Promise<Sheet[]> {
  // Imported on demand: few inputs are workbooks.
  const { SaxParser } = await import('@cj-tech-master/excelts/xml')
  return explain(
    file,
    () => new Workbook(file, bytes, SaxParser).listSheets(),
    () => describeOther(bytes),
  )
}

const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** Says why bytes that cannot be read as a workbook are none. */
function describeOther(bytes: Buffer): string {
  const start = bytes.subarray(0, 4096)
  if (start.subarray(0, 8).equals(COMPOUND_FILE))
    return bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'))
      ? 'is protected with a password: save it without one'
      : 'is not a spreadsheet in the XLSX format, but probably in the older format XLS: save it as XLSX or CSV'
  const format = findFormat(start)
  if (format?.isContainer === false)
    return `is ${format.name}, not a spreadsheet in the XLSX format: ${lowerFirst(format.advice)}`
  const isText = format === undefined && start.length > 3 && !start.includes(0)
  return isText
    ? 'is text, not a spreadsheet in the XLSX format: give it a name that ends with .csv'
    : DAMAGED
}

/** Advice as the end of a sentence. */
function lowerFirst(advice: string): string {
  return advice.charAt(0).toLowerCase() + advice.slice(1).replace(/\.$/, '')
}

/** Whatever goes wrong in a damaged file is a sentence. */
function explain<T>(file: string, read: () => T, otherwise = () => DAMAGED): T {
  try {
    return read()
  } catch (error) {
    refuse({ file, message: error instanceof WorkbookRefused ? error.message : otherwise() })
  }
}

type Attributes = Readonly<Record<string, string | undefined>>

/** Called with the names of elements without prefixes. */
interface Handlers {
  readonly open: (name: string, attributes: Attributes) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

type Parser = typeof import('@cj-tech-master/excelts/xml').SaxParser

class Workbook {
  readonly #file: string
  readonly #bytes: Buffer
  readonly #parser: Parser
  readonly #entries: ReadonlyMap<string, ZipEntry>
  #room = MAX_UNPACKED_BYTES
  #cells = 0
  #places = 0
  readonly #texts: string[] = []
  readonly #formats: NumberFormat[] = []
  #is1904 = false
  #isCalculated = true

  constructor(file: string, bytes: Buffer, parser: Parser) {
    this.#file = file
    this.#bytes = bytes
    this.#parser = parser
    this.#entries = new Map(listEntries(bytes).map((entry) => [toKey(entry.name), entry]))
    if (this.#entries.size === 0) throw new Error('there is no directory')
  }

  listSheets(): Sheet[] {
    const [path = ''] = this.#relationsOf('').ofType('officeDocument')
    const relations = this.#relationsOf(path)
    const found: { name: string; id: string }[] = []
    this.#read(path, {
      open: (name, attributes) => {
        if (name === 'workbookPr') this.#is1904 = isTrue(attributes.date1904)
        if (name === 'calcPr') this.#isCalculated = !isTrue(attributes.fullCalcOnLoad)
        if (name !== 'sheet') return
        const id = Object.entries(attributes).find(([each]) => each.endsWith(':id'))?.[1]
        found.push({ name: attributes.name ?? '', id: id ?? '' })
        if (found.length > MAX_SHEETS) throw tooMany(MAX_SHEETS, 'sheets')
      },
    })
    for (const each of relations.ofType('styles')) this.#readFormats(each)
    for (const each of relations.ofType('sharedStrings')) this.#readTexts(each)
    return found.map(({ name, id }) => {
      const part = this.#unpack(relations.byId.get(id) ?? '')
      return { name, rows: () => this.#rowsOf(part) }
    })
  }

  /** The parts that another one refers to; those of the whole file for the part ''. */
  #relationsOf(path: string) {
    const [, folder = '', file = ''] = /^(.*\/)?([^/]*)$/.exec(path) ?? []
    const byId = new Map<string, string>()
    const types: { type: string; target: string }[] = []
    this.#read(`${folder}_rels/${file}.rels`, {
      open: (name, { Id = '', Type = '', Target = '' }) => {
        if (name !== 'Relationship') return
        const target = Target.startsWith('/') ? Target.slice(1) : `${folder}${Target}`
        byId.set(Id, target)
        types.push({ type: Type.slice(Type.lastIndexOf('/') + 1), target })
      },
    })
    const ofType = (type: string) => types.filter((each) => each.type === type).map(({ target }) => target)
    return { byId, ofType }
  }

  #readFormats(path: string): void {
    const codes = new Map<number, string>()
    const read = new Map<number, NumberFormat>()
    let isOfCells = false
    this.#read(path, {
      open: (name, { numFmtId, formatCode }) => {
        const id = Number(numFmtId)
        if (name === 'numFmt' && codes.set(id, formatCode ?? '').size > MAX_FORMATS)
          throw tooMany(MAX_FORMATS, 'formats of numbers')
        if (name === 'cellXfs') isOfCells = true
        if (name !== 'xf' || !isOfCells) return
        this.#formats.push(getOrMake(read, id, () => readFormat(id, codes.get(id))))
        if (this.#formats.length > MAX_FORMATS) throw tooMany(MAX_FORMATS, 'formats of cells')
      },
      close: (name) => {
        if (name === 'cellXfs') isOfCells = false
      },
    })
  }

  #readTexts(path: string): void {
    const text = new TextCollector()
    this.#read(path, {
      open: text.open,
      text: text.add,
      close: (name) => {
        text.close(name)
        if (name === 'si') this.#texts.push(text.take())
      },
    })
  }

  *#rowsOf(part: Buffer): Generator<SheetRow, void> {
    let width = 0
    const addPlaces = (cells: number) => {
      // A shorter row is written as long as the header.
      width ||= cells
      this.#places += Math.max(width, cells)
      if (this.#places > MAX_PLACES) throw tooMany(MAX_PLACES, 'places up to the last cells of its rows')
    }
    const toText = (type: string, value: string) => this.#toText(type, value)
    const rows = new RowCollector({
      toText,
      addPlaces,
      formats: this.#formats,
      is1904: this.#is1904,
      isCalculated: this.#isCalculated,
    })
    const pieces = this.#readPieces(part, {
      open: (name, attributes) => {
        if (name === 'c' && ++this.#cells > MAX_CELLS) throw tooMany(MAX_CELLS, 'cells')
        rows.open(name, attributes)
      },
      text: rows.text,
      close: rows.close,
    })
    this.#cells = 0
    while (explain(this.#file, () => pieces.next().done) !== true) yield* rows.take()
    yield* rows.take()
  }

  #toText(type: string, value: string): string {
    if (type !== 's') return value
    const text = this.#texts[Number(value)]
    if (text === undefined || value.trim() === '') throw new WorkbookRefused(DAMAGED)
    return text
  }

  #read(path: string, handlers: Handlers): void {
    const part = this.#unpack(path)
    for (const _ of this.#readPieces(part, handlers));
  }

  #unpack(path: string): Buffer {
    const entry = this.#entries.get(toKey(path))
    if (entry === undefined) throw new Error(`there is no ${path}`)
    try {
      const part = unpackEntry(this.#bytes, entry, this.#room)
      this.#room -= part.length
      return part
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
      throw new WorkbookRefused(
        `unpacks to more than ${MAX_UNPACKED_BYTES} bytes, the most for a spreadsheet: save it as CSV`,
      )
    }
  }

  /** Reads XML in pieces, between which what the handlers have collected can be used. */
  *#readPieces(part: Buffer, { open, text: addText, close }: Handlers): Generator<void, void> {
    const parser = new this.#parser({
      position: false,
      maxEntityExpansions: 0,
      invalidCharHandling: 'replace',
    })
    parser.on('opentag', ({ name, attributes }: SaxTag) => open(plainName(name), attributes))
    parser.on('closetag', ({ name }: SaxTag) => close?.(plainName(name)))
    if (addText !== undefined) {
      parser.on('text', addText)
      parser.on('cdata', addText)
    }
    parser.on('error', (error) => {
      throw error
    })
    const decoder = new TextDecoder(findUtf16(part) ?? 'utf-8', { fatal: true })
    let unclosed = 0
    for (let at = 0; at < part.length; at += PIECE) {
      const text = decoder.decode(part.subarray(at, at + PIECE), { stream: true })
      const end = text.lastIndexOf('>')
      unclosed = end < 0 ? unclosed + text.length : text.length - end
      if (unclosed > MAX_ELEMENT) throw tooMany(MAX_ELEMENT, 'characters in an element')
      parser.write(text)
      yield
    }
    parser.close()
  }
}

const PIECE = 64 * 1024

/** Names of parts differ in case and separators between programs. */
function toKey(path: string): string {
  return path.replaceAll('\\', '/').replace(/^\//, '').toLowerCase()
}

function isTrue(value = ''): boolean {
  return /^(?:1|true)$/.test(value)
}

function plainName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

function tooMany(most: number, what: string): WorkbookRefused {
  return new WorkbookRefused(`has more than ${most} ${what}, the most for a spreadsheet: save it as CSV`)
}

/** Collects the text of an item, which can have several formats, without how it is pronounced. */
class TextCollector {
  #text = ''
  #isText = false
  #isPronunciation = false

  readonly open = (name: string): void => {
    if (name === 'rPh') this.#isPronunciation = true
    if (name === 't') this.#isText = true
  }

  readonly add = (text: string): void => {
    if (this.#isText && !this.#isPronunciation) this.#text += text
  }

  readonly close = (name: string): void => {
    if (name === 'rPh') this.#isPronunciation = false
    if (name === 't') this.#isText = false
  }

  take(): string {
    const text = unescapeText(this.#text)
    this.#text = ''
    return text
  }
}

/** Characters that XML cannot contain, and an underscore before what looks like them (ECMA-376, part 1, section 22.9.2.19). */
function unescapeText(text: string): string {
  if (!text.includes('_x')) return text
  return text.replaceAll(/_x([\da-f]{4})_/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

interface RowOptions {
  /** Gives the text of a cell of this type. */
  readonly toText: (type: string, value: string) => string
  /** Counts the cells of a row up to its last one. */
  readonly addPlaces: (cells: number) => void
  readonly formats: readonly NumberFormat[]
  readonly is1904: boolean
  readonly isCalculated: boolean
}

/** Collects the rows of a sheet. References are optional: without one, a cell is beside the one before it. */
class RowCollector {
  readonly #options: RowOptions
  readonly #inline = new TextCollector()
  #rows: SheetRow[] = []
  #number = 0
  #column = -1
  #characters = 0
  #cells: Cell[] = []
  #type = 'n'
  #format = GENERAL
  #value = ''
  #formula: string | undefined
  /** What the text belongs to: a value, or a formula. */
  #within: 'v' | 'f' | undefined

  constructor(options: RowOptions) {
    this.#options = options
  }

  take(): SheetRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  readonly open = (name: string, { r, s, t }: Attributes): void => {
    this.#inline.open(name)
    if (name === 'row') {
      const number = r === undefined ? this.#number + 1 : Number(r)
      // Rows are in order (section 18.3.1.73).
      if (!(number > this.#number && number <= MAX_ROWS)) throw new WorkbookRefused(DAMAGED)
      this.#number = number
      this.#column = -1
    } else if (name === 'c') {
      this.#column = r === undefined ? this.#column + 1 : readColumn(r)
      if (!(this.#column >= 0 && this.#column < MAX_COLUMNS)) throw new WorkbookRefused(DAMAGED)
      this.#type = t ?? 'n'
      this.#format = this.#options.formats[Number(s ?? 0)] ?? GENERAL
      this.#value = ''
      this.#formula = undefined
    } else if (name === 'f') {
      this.#within = name
      this.#formula = ''
    } else if (name === 'v') this.#within = name
  }

  readonly text = (text: string): void => {
    if (this.#within === 'v') this.#value += text
    else if (this.#within === 'f') this.#formula += text
    else this.#inline.add(text)
  }

  readonly close = (name: string): void => {
    this.#inline.close(name)
    if (name === 'v' || name === 'f') this.#within = undefined
    else if (name === 'c') this.#addCell()
    else if (name === 'row') this.#addRow()
  }

  #addCell(): void {
    const { toText, is1904, isCalculated } = this.#options
    const inline = this.#inline.take()
    const [type, value] = [this.#type, this.#type === 'inlineStr' ? inline : this.#value]
    // A library that does not calculate writes 0 for each result, and asks the next program to calculate.
    const isMissing = this.#formula !== undefined && !isCalculated && value === '0'
    const text = isMissing || (type === 's' && value === '') ? '' : toText(type, value)
    const cell = readCell(
      {
        type,
        format: this.#format,
        value: type === 'str' ? unescapeText(text) : text,
        formula: this.#formula,
      },
      is1904,
    )
    if (cell === '') return
    this.#characters += typeof cell === 'string' ? cell.length : cell.shown.length
    if (this.#characters > MAX_CHARACTERS) throw tooMany(MAX_CHARACTERS, 'characters')
    while (this.#cells.length < this.#column) this.#cells.push('')
    this.#cells[this.#column] = cell
  }

  #addRow(): void {
    if (this.#cells.length > 0) {
      this.#options.addPlaces(this.#cells.length)
      this.#rows.push({ number: this.#number, cells: this.#cells })
    }
    this.#cells = []
  }
}

/** The column of a reference such as `B7`, from 0. */
function readColumn(reference: string): number {
  const [, letters = ''] = /^([A-Z]{1,3})\d*$/i.exec(reference) ?? []
  let column = 0
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}
