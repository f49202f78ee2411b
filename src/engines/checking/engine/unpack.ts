import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { explainReadError } from '../../../foundation/faults/read-error.ts'
import { fail, UserError } from '../../../foundation/faults/user-error.ts'
import { isKnownMethod, openEntry, readEntries, renderRecord, type TextSheet } from '../../records/index.ts'
import { isFile, isJunk } from '../definition/is-file.ts'
import { isDiskFull } from '../process/limits.ts'
import { MARK_PREFIX } from './columns.ts'

/** How large an archive may be. */
export interface ArchiveLimits {
  readonly unpackedBytes: number
  readonly files: number
}

const LIMITS: ArchiveLimits = { unpackedBytes: 2 ** 33, files: 1000 }

/** The most folders in which a file may be: file systems limit the length of a path. */
const DEEPEST = 20

const ARCHIVE = /\.zip$/i
const WORKBOOK = /\.xls[xm]$/i

interface Container {
  /** The archive or workbook of the person. */
  readonly path: string
  readonly name: string
  readonly isWorkbook: boolean
}

/** Archives and workbooks among the inputs of a check, as files in a folder for temporary files. */
export class Containers {
  #folder: string | undefined
  readonly #limits: ArchiveLimits
  #count = 0
  /** The name of what was unpacked, by its folder. */
  readonly #names = new Map<string, Container>()
  /** What is wrong with workbooks that cannot be read, and with sheets, by their files. */
  readonly #faults = new Map<string, string>()
  /** The absolute paths of workbooks whose content is among the paths. */
  readonly opened = new Set<string>()

  constructor(limits: Partial<ArchiveLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /**
   * Unpacks the ZIP archives among the paths; a folder takes the place of each.
   *
   * @throws {UserError} if one is too large, encrypted or damaged
   */
  async openArchives(paths: readonly string[]): Promise<string[]> {
    const opened: string[] = []
    for (const path of paths)
      opened.push(ARCHIVE.test(path) && isFile(path) ? await this.#openArchive(path) : path)
    return opened
  }

  async #openArchive(path: string): Promise<string> {
    const { unpackedBytes, files } = this.#limits
    const folder = this.#nextFolder()
    let room = unpackedBytes
    let count = 0
    try {
      const entries = readEntries(path)
      if (entries === undefined) throw new Error('the directory of the archive is missing or damaged')
      if (entries.length > files)
        fail({
          file: path,
          message: `has more than ${files} files and folders: unpack it, and check the folder`,
        })
      for (const entry of entries) {
        if (entry.name.split(/[\\/]/).length > DEEPEST)
          fail({ file: path, message: `has folders in more than ${DEEPEST - 1} folders: unpack it` })
        if (/[\\/]$/.test(entry.name) || isJunk(entry.name)) continue
        count++
        const file = `${path}/${entry.name}`
        const target = resolve(folder, entry.name.replaceAll('\\', '/'))
        if (!target.startsWith(folder + sep)) fail({ file, message: 'is outside of the archive' })
        if (entry.isEncrypted) fail({ file, message: 'is encrypted: unpack it first' })
        if (!isKnownMethod(entry))
          fail({ file, message: 'is compressed in a way that few programs know: pack it again as Deflate' })
        if (existsSync(target)) fail({ file, message: 'is twice in the archive' })
        mkdirSync(dirname(target), { recursive: true })
        let checksum = 0
        const watch = Duplex.from(async function* (chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            room -= chunk.length
            if (room < 0) fail({ file: path, message: `unpacks to more than ${unpackedBytes} bytes` })
            checksum = crc32(chunk, checksum)
            yield chunk
          }
        })
        await pipeline([...openEntry(path, entry), watch, createWriteStream(target, { mode: 0o600 })])
        if (checksum !== entry.crc32) fail({ file, message: 'is damaged: its checksum is wrong' })
      }
    } catch (error) {
      const explained = explainReadError(error, path)
      if (explained instanceof UserError || isDiskFull(error)) throw explained
      fail({ file: path, message: 'is not a ZIP archive, or is damaged: pack it again' })
    }
    if (count === 0) fail({ file: path, message: 'is an empty ZIP archive' })
    const root = findRoot(folder)
    this.#names.set(root, { path, name: basename(path), isWorkbook: false })
    return root
  }

  /**
   * Writes the sheets of the workbooks among the paths, or in their folders, as CSV files. A folder with a file for
   * each sheet takes the place of a workbook; a file does if the workbook has the name of a file of the definition.
   * One in a folder that cannot be read stays where it is, with its fault.
   *
   * @param isFileName whether a name without its extension is that of a file of the definition
   * @throws {UserError} if a given workbook is too large or damaged
   */
  async openWorkbooks(paths: readonly string[], isFileName: (name: string) => boolean): Promise<string[]> {
    const opened: string[] = []
    for (const path of paths) {
      if (!existsSync(path)) opened.push(path)
      else if (statSync(path).isDirectory()) {
        opened.push(path)
        const inside = readdirSync(path).filter((name) => WORKBOOK.test(name) && !isJunk(name))
        for (const name of inside.sort())
          opened.push(...(await this.#tryWorkbook(join(path, name), isFileName)))
      } else opened.push(WORKBOOK.test(path) ? await this.#openWorkbook(path, isFileName) : path)
    }
    return opened
  }

  async #tryWorkbook(path: string, isFileName: (name: string) => boolean): Promise<string[]> {
    try {
      return [await this.#openWorkbook(path, isFileName)]
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      const [fault] = error.faults
      this.#faults.set(resolve(path), fault?.message ?? error.message)
      return []
    }
  }

  async #openWorkbook(path: string, isFileName: (name: string) => boolean): Promise<string> {
    const unpacked = this.nameOf(path)
    const name = unpacked ?? basename(path)
    const shown = unpacked ?? path
    // Imported on demand: few inputs are workbooks.
    const { readWorkbook } = await import('../../records/index.ts')
    const read = await readWorkbook(path).catch((error: unknown) => {
      // An import says that nothing was stored.
      throw error instanceof UserError
        ? new UserError(error.faults.map((fault) => ({ ...fault, file: shown })))
        : error
    })
    const filled = read.filter(hasRows)
    const isMarked = filled.some(isMarkedSheet)
    const sheets = filled.filter(({ name }) => !isMarked || !SUMMARY.test(name))
    if (sheets.length === 0) fail({ file: shown, message: 'has no sheet with data' })
    const folder = this.#nextFolder()
    this.opened.add(resolve(path))
    this.#names.set(folder, { path: this.originOf(path) ?? path, name, isWorkbook: true })
    const stem = basename(path).replace(WORKBOOK, '')
    const [first, ...others] = sheets
    // One workbook for each file: then its own name counts, and its sheet may be called Sheet1.
    if (first !== undefined && others.length === 0 && isFileName(stem) && !isFileName(first.name))
      return await this.#writeSheet(first, join(folder, `${stem}.csv`))
    const taken = new Set<string>()
    for (const sheet of sheets) await this.#writeSheet(sheet, join(folder, nameFile(sheet.name, taken)))
    return folder
  }

  /** Writes a sheet as CSV in which each row is a line, so that findings name the row. */
  async #writeSheet(sheet: TextSheet, path: string): Promise<string> {
    await pipeline(Readable.from(renderRows(sheet)), createWriteStream(path, { mode: 0o600 }))
    if (sheet.fault !== undefined) this.#faults.set(path, sheet.fault)
    return path
  }

  /** What is wrong with a workbook or a sheet, after its name. */
  faultOf(path: string): string | undefined {
    return this.#faults.get(resolve(path))
  }

  /** The name of what was unpacked: its archive or workbook, and its path or sheet there. */
  nameOf(path: string): string | undefined {
    const [folder, container] = this.#find(path)
    if (container === undefined) return undefined
    const inner = relative(folder, path).split(sep).join('/')
    if (inner === '') return container.name
    return `${container.name}/${container.isWorkbook ? inner.replace(/\.csv$/, '') : inner}`
  }

  /** The file of a name in an archive or of a sheet, such as `return.xlsx/Course register`. */
  locate(given: string): string | undefined {
    for (const [folder, { path, name }] of this.#names) {
      const prefix = [`${path}/`, `${name}/`].find((each) => given.startsWith(each))
      if (prefix === undefined) continue
      const inner = resolve(folder, given.slice(prefix.length))
      const found = [inner, `${inner}.csv`].find(isFile)
      if (found?.startsWith(folder + sep)) return found
    }
    return undefined
  }

  /** The archive or workbook that a file was in. */
  originOf(path: string): string | undefined {
    return this.#find(path)[1]?.path
  }

  #find(path: string): [string, Container | undefined] {
    const root = this.#folder ?? ''
    for (let folder = resolve(path); root !== '' && folder.startsWith(root); folder = dirname(folder)) {
      const container = this.#names.get(folder)
      if (container !== undefined) return [folder, container]
    }
    return ['', undefined]
  }

  #nextFolder(): string {
    this.#folder ??= realpathSync(mkdtempSync(join(tmpdir(), 'mahi-unpack-')))
    const folder = join(this.#folder, String(++this.#count))
    mkdirSync(folder)
    return folder
  }

  /** Deletes what was unpacked. */
  async remove(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
  }
}

/** The first folder that has more than another folder in it. */
function findRoot(folder: string): string {
  const [only, ...others] = readdirSync(folder, { withFileTypes: true })
  return only?.isDirectory() === true && others.length === 0 ? findRoot(join(folder, only.name)) : folder
}

/** The first sheet of a workbook that `--mark` has written. */
const SUMMARY = /^Summary$/i

/** Whether `--mark` has written the first column of a sheet. */
function isMarkedSheet(sheet: TextSheet): boolean {
  for (const [first = ''] of sheet.rows()) return first.startsWith(MARK_PREFIX)
  return false
}

function hasRows(sheet: TextSheet): boolean {
  for (const row of sheet.rows()) if (row.length > 0) return true
  return false
}

/** A file name for a sheet, which may have any characters. */
function nameFile(sheet: string, taken: Set<string>): string {
  const plain = sheet.replace(/[\p{Cc}/\\]/gu, '_').slice(0, 100)
  let name = `${plain}.csv`
  for (let number = 2; taken.has(name.toLowerCase()); number++) name = `${plain} ${number}.csv`
  taken.add(name.toLowerCase())
  return name
}

function* renderRows(sheet: TextSheet): Generator<string> {
  let width: number | undefined
  let blank = 0
  for (const cells of sheet.rows()) {
    if (cells.length === 0) {
      blank++
      continue
    }
    // Blank rows at the end are no lines.
    yield '\n'.repeat(blank)
    blank = 0
    width ??= cells.length
    const row = Array.from({ length: Math.max(width, cells.length) }, (_, index) => cells[index] ?? '')
    // A line end within a cell would shift the lines behind it.
    yield `${renderRecord(row.map((cell) => cell.replaceAll(/\r?\n/g, '\r')))}\n`
  }
}
