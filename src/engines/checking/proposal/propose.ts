import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, posix, resolve } from 'node:path'
import { replaceFile } from '../../../foundation/command-line/output-file.ts'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { findDescriptor, loadDefinition } from '../definition/load.ts'
import { type CheckSummary, checkFiles } from '../engine/check-files.ts'
import { Containers } from '../engine/unpack.ts'
import { DEFAULT_LIMITS } from '../process/limits.ts'
import { Room } from './column.ts'
import { describeFiles, type NamedFile } from './describe-files.ts'
import { readColumns } from './read-columns.ts'
import { renderProposal } from './render.ts'

/** The endings of files of records. Others in the folder are not looked at. */
const RECORDS = /\.(?:csv|tsv|txt|ndjson|jsonl)(?:\.gz)?$/i
const DESCRIPTOR = 'datapackage.yml'

export interface Proposal {
  /** The path of the descriptor. */
  readonly descriptor: string
  readonly files: readonly { readonly path: string; readonly name: string; readonly records: number }[]
  /** Files that are not in it, as full sentences with the reason. */
  readonly unread: readonly string[]
  /** The check of the files against the proposal. */
  readonly summary: CheckSummary
}

/**
 * Writes a descriptor for the files of a folder, derived from their records, and checks the files against it: what is
 * found says where a record is unlike the others.
 *
 * @throws {UserError} if the folder has a descriptor, or no files of records
 */
export async function propose(folder: string, signal?: AbortSignal): Promise<Proposal> {
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new UserError([{ file: folder, message: 'is not a folder' }])
  const descriptor = findDescriptor(folder)
  if (descriptor !== undefined)
    throw new UserError([
      { file: join(folder, descriptor), message: 'exists already. Rename it to get a proposal beside it' },
    ])
  const temporary = await mkdtemp(join(tmpdir(), 'mahi-init-'))
  const containers = new Containers()
  try {
    const sources = await listSources(folder, containers)
    const { files, unread } = await readFiles(folder, sources, temporary, signal)
    const name = toName(basename(resolve(folder))) || 'files'
    const resources = describeFiles(files)
    const text = renderProposal(name, resources, files, unread)
    await writeFile(join(temporary, DESCRIPTOR), text)
    const inputs = resources.map((each) => {
      return { resource: each.name, name: each.path, path: sources.get(each.path) ?? each.path }
    })
    const { summary, dispose } = await checkFiles(
      { definition: loadDefinition(temporary), files: inputs, complete: true },
      { ...(signal && { signal }) },
    )
    await dispose()
    const path = join(folder, DESCRIPTOR)
    await replaceFile(path, (append) => append(text))
    return {
      descriptor: path,
      files: files.map((file) => ({ path: file.path, name: file.name, records: file.records })),
      unread,
      summary,
    }
  } finally {
    await containers.remove()
    await rm(temporary, { recursive: true, force: true })
  }
}

/** Where the files of records are, by their paths in the package. */
type Sources = ReadonlyMap<string, string>

/** The folders within each other that are looked at. */
const DEEPEST = 5

/** Finds the files in a folder and its folders, and the sheets of its workbooks. */
async function listSources(folder: string, containers: Containers): Promise<Sources> {
  const sources = new Map<string, string>()
  const walk = (inner: string, depth: number) => {
    const entries = readdirSync(join(folder, inner), { withFileTypes: true })
    for (const { name } of entries)
      if (RECORDS.test(name) && statSync(join(folder, inner, name)).isFile())
        sources.set(posix.join(inner, name), join(folder, inner, name))
    for (const entry of entries)
      if (entry.isDirectory() && !/^[.~_]/.test(entry.name) && depth < DEEPEST)
        walk(posix.join(inner, entry.name), depth + 1)
  }
  walk('', 1)
  // A workbook with one sheet is a file with its name.
  const stems = new Set(readdirSync(folder).map((name) => name.replace(/\.xls[xm]$/i, '')))
  const [, ...opened] = await containers.openWorkbooks([folder], (name) => stems.has(name))
  const sheets = opened.flatMap((path) =>
    statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path],
  )
  for (const path of sheets) {
    const other = sources.get(basename(path))
    if (other !== undefined) refuseTwice(containers.nameOf(path) ?? path, basename(other))
    sources.set(basename(path), path)
  }
  return sources
}

function refuseTwice(file: string, other: string): never {
  const message = `has the same name as ${other}, so a check cannot tell which is meant; move one of them away`
  throw new UserError([{ file, message }])
}

async function readFiles(
  folder: string,
  sources: Sources,
  temporary: string,
  signal: AbortSignal | undefined,
): Promise<{ files: NamedFile[]; unread: string[] }> {
  const files: NamedFile[] = []
  const unread: string[] = []
  const used = new Set<string>()
  const stems = new Map<string, string>()
  const room = new Room()
  // Those of the folder itself first, which a check prefers.
  const paths = [...sources.keys()].sort(
    (one, other) => one.split('/').length - other.split('/').length || (one < other ? -1 : 1),
  )
  for (const [number, path] of paths.entries()) {
    if (/^[.~]/.test(basename(path))) {
      unread.push(`${path}: Its name cannot be the path of a resource.`)
      continue
    }
    const other = stems.get(stemOf(path))
    if (other !== undefined) refuseTwice(join(folder, path), other)
    if (path.includes('/') && stems.has(stemOf(basename(path)))) {
      unread.push(`${path}: The folder itself has a file of this name.`)
      continue
    }
    const source = sources.get(path) ?? join(folder, path)
    const options = {
      folder: temporary,
      name: `${number}.utf8`,
      room,
      bytes: DEFAULT_LIMITS.diskBytes,
      signal,
    }
    const read = await readColumns(source, options)
    await rm(join(temporary, options.name), { force: true })
    if (typeof read === 'string') unread.push(`${path}: ${read}`)
    else if (read.columns.length === 0) unread.push(`${path}: No column has a name.`)
    else {
      stems.set(stemOf(path), path)
      files.push({ ...read, path, name: '' })
    }
  }
  if (files.length > 0)
    return { files: files.map((file) => ({ ...file, name: chooseName(file.path, used, stems) })), unread }
  const message =
    unread.length === 0
      ? 'has no files of records, such as CSV or NDJSON'
      : `has no file that can be read. ${unread.join(' ')}`
  throw new UserError([{ file: folder, message }])
}

/** A name for a resource: unique, in the form that the standard recommends, and not that of another file. */
function chooseName(path: string, used: Set<string>, stems: ReadonlyMap<string, string>): string {
  const base = toName(basename(path).replace(RECORDS, '')) || 'file'
  const isFree = (name: string) => !used.has(name) && [undefined, path].includes(stems.get(name))
  let name = base
  for (let count = 2; !isFree(name); count++) name = `${base}-${count}`
  used.add(name)
  return name
}

/** The name by which a check recognises a file. */
function stemOf(path: string): string {
  return path.replace(RECORDS, '').toLowerCase()
}

function toName(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-|-$/g, '')
}
