import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join, posix, resolve } from 'node:path'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { findSimilar, suggest } from '../../foundation/text/suggest.ts'
import type { CheckedInput } from './check-files.ts'
import type { Definition, Resource } from './definition/definition.ts'
import { plainName } from './engine/columns.ts'
import type { UnreadFile } from './engine/run.ts'

/** What is known of files that come from an archive or a workbook. */
export interface Origin {
  /** The name in findings, if it is not that of the file. */
  readonly nameOf: (path: string) => string | undefined
  /** The absolute paths of files whose content is among the paths. */
  readonly opened: ReadonlySet<string>
}

const AS_IS: Origin = { nameOf: () => undefined, opened: new Set() }

const ENDING = /\.(?:csv|tsv|txt|ndjson|jsonl)(?:\.gz)?$|\.(?:xlsx|xls|ods|zip)$/i

/** What spreadsheet programs leave beside an open file. */
const LOCK = /^(?:~\$|\.~lock\.)/

export interface SelectedFiles {
  readonly files: CheckedInput[]
  /** Whether a folder was given, in which all files must be present. */
  readonly complete: boolean
  /** Files in a folder that are not in the definition. */
  readonly unread: readonly UnreadFile[]
  /** The files that were recognised although they have another name, as full sentences. */
  readonly notes: readonly string[]
}

/**
 * Assigns paths to the files of a definition by their names, in any case and with any separators of words. A folder
 * stands for its files.
 *
 * @param named what each file is that has a name of its own: `enrolments=NAME.csv`
 * @throws {UserError} if a path does not exist, a given file is unknown, or two paths are the same file
 */
export function selectFiles(
  paths: readonly string[],
  definition: Definition,
  named: readonly string[] = [],
  { nameOf, opened }: Origin = AS_IS,
): SelectedFiles {
  const faults: Fault[] = []
  const show = (path: string) => nameOf(path) ?? path
  const unread: string[] = []
  const notes: string[] = []
  const chosen = new Map<Resource, { path: string; name: string }>()
  let complete = false
  const choose = (path: string, resource: Resource, name = basename(path)) => {
    const other = chosen.get(resource)?.path
    if (other === undefined) chosen.set(resource, { path, name: nameOf(path) ?? name })
    else if (other === path) faults.push({ file: show(path), message: 'is named twice' })
    else
      faults.push({
        file: show(path),
        message: `is ${resource.title}, and so is ${show(other)}; name one of them`,
      })
  }
  for (const each of named) {
    const [, name = '', given = ''] = /^([^=]+)=(.+)$/s.exec(each) ?? []
    const path = locate(given, paths)
    const resource = definition.resources.find(
      (one) => plainName(one.name) === plainName(name) || plainName(stemOf(one.path)) === plainName(name),
    )
    const known = definition.resources.map((one) => one.name)
    if (path === '') faults.push({ file: `--file ${each}`, message: 'must have the form NAME=FILE' })
    else if (resource === undefined)
      faults.push({ file: path, message: `is named ${name}, but the files are ${known.join(', ')}` })
    else if (!existsSync(path) || !statSync(path).isFile())
      faults.push({ file: path, message: 'is not a file' })
    else choose(path, resource)
  }
  const isNamed = new Set(chosen.keys())
  const isChosen = new Set([...chosen.values()].map(({ path }) => resolve(path)))
  for (const path of paths) {
    if (!existsSync(path)) {
      faults.push({ file: path, message: 'does not exist' })
    } else if (statSync(path).isDirectory()) {
      complete = true
      const nested = listNested(path, definition)
      for (const { name, resource } of nested) {
        if (!isNamed.has(resource)) choose(join(path, name), resource, name)
      }
      for (const name of listFiles(path)) {
        const file = join(path, name)
        if (isChosen.has(resolve(file)) || opened.has(resolve(file))) continue
        const resource = findResource(name, definition)
        if (resource === undefined || isNamed.has(resource)) unread.push(nameOf(file) ?? name)
        else if (!nested.some((each) => each.resource === resource)) {
          choose(file, resource)
          noteName(name, resource, notes, nameOf(file))
        }
      }
    } else {
      const resource = findResource(basename(path), definition)
      if (resource !== undefined) {
        choose(path, resource)
        noteName(basename(path), resource, notes, nameOf(path))
      } else {
        const known = definition.resources.map((each) => each.path).join(', ')
        const message = `is not a file of the definition ${definition.name}${near(basename(path), definition)}; its files are ${known}`
        faults.push({ file: show(path), message })
      }
    }
  }
  if (faults.length === 0 && chosen.size === 0) {
    const known = definition.resources.map((each) => each.path).join(', ')
    const message = `has none of the files of the definition ${definition.name}: ${known}`
    faults.push({ file: paths.map(show).join(', '), message })
  }
  if (faults.length > 0) throw new UserError(faults)
  const files = [...chosen].map(([resource, file]) => ({ resource: resource.name, ...file }))
  const free = definition.resources.filter((resource) => !chosen.has(resource))
  return { files, complete, unread: unread.map((name) => describeUnread(name, free)), notes }
}

/** Where a file is that may be named as it is in a folder that is checked. */
function locate(path: string, folders: readonly string[]): string {
  if (path === '' || existsSync(path)) return path
  return folders.map((folder) => join(folder, path)).find((each) => existsSync(each)) ?? path
}

/** The shortest name of a file that is recognised within another name, such as `courses` in `courses_final`. */
const LEAST_CONTAINED = 5

/** Finds the absent file that an unread one is probably meant to be. */
function describeUnread(name: string, absent: readonly Resource[]): UnreadFile {
  const stem = stemOf(posix.basename(name))
  const names = absent.map((resource) => resource.name)
  const contained = names.filter(
    (each) => each.length >= LEAST_CONTAINED && plainName(stem).includes(plainName(each)),
  )
  return { name, resource: findSimilar(stem, names) ?? (contained.length === 1 ? contained[0] : undefined) }
}

function listFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => ENDING.test(name) && !LOCK.test(name) && statSync(join(folder, name)).isFile())
    .sort()
}

/** The files of resources whose path names a folder within the given one. */
function listNested(folder: string, { resources }: Definition): { name: string; resource: Resource }[] {
  return resources.flatMap((resource) => {
    const inner = posix.dirname(resource.path)
    if (inner === '.' || !existsSync(join(folder, inner)) || !statSync(join(folder, inner)).isDirectory())
      return []
    const stem = stemOf(posix.basename(resource.path))
    return listFiles(join(folder, inner))
      .filter((name) => stemOf(name) === stem)
      .map((name) => ({ name: posix.join(inner, name), resource }))
  })
}

function near(name: string, { resources }: Definition): string {
  return suggest(
    name,
    resources.map(({ path }) => path),
  )
}

function findResource(name: string, { resources }: Definition): Resource | undefined {
  const stem = stemOf(name)
  const plain = plainName(stem)
  const isNamed = (each: Resource) => stem === stemOf(each.name) || stem === stemOf(posix.basename(each.path))
  const isRespelt = (each: Resource) => plain === plainName(each.name) || plain === plainName(pathStem(each))
  return (
    resources.find(isNamed) ??
    resources.find((each) => each.fileNames.some((pattern) => matches(stem, pattern))) ??
    resources.find(isRespelt)
  )
}

/** Whether a name without its extension is that of a file of the definition. */
export function isFileName(name: string, definition: Definition): boolean {
  return findResource(name, definition) !== undefined
}

/** Notes a name that is neither the file's own nor one that the definition expects. */
function noteName(name: string, resource: Resource, notes: string[], shown = name): void {
  const stem = stemOf(name)
  const isExpected =
    stem === stemOf(resource.name) ||
    stem === pathStem(resource) ||
    resource.fileNames.some((pattern) => matches(stem, pattern))
  if (!isExpected) notes.push(`The file ${shown} was read as ${posix.basename(resource.path)}.`)
}

function pathStem({ path }: Resource): string {
  return stemOf(posix.basename(path))
}

function stemOf(name: string): string {
  return name.replace(ENDING, '').toLowerCase()
}

function matches(stem: string, pattern: string): boolean {
  const parts = pattern
    .toLowerCase()
    .split('*')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(stem)
}
