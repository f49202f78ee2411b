import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join, posix, resolve } from 'node:path'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { describeFormat, findFormat, JSON_LIST } from '../records/index.ts'
import type { Definition, Resource } from './definition/definition.ts'
import { hasOtherFormat, isFile, isJunk, readBytes } from './definition/is-file.ts'
import { plainName } from './engine/columns.ts'
import type { FileFault } from './engine/file-fault.ts'
import type { InputFile } from './engine/request.ts'
import type { SpareFile } from './engine/summary.ts'
import type { Containers } from './engine/unpack.ts'
import { findSure, recognise } from './recognise.ts'
import { CHANGES } from './repair/changes-name.ts'

const ENDING =
  /\.(?:csv|tsv|txt|ndjson|jsonl)(?:\.gz)?$|\.(?:xls[xmb]?|ods|numbers|docx?|json|pdf|html?|zip)$/i

export interface SelectedFiles {
  readonly files: InputFile[]
  /** Whether a folder was given, in which all files must be present. */
  readonly complete: boolean
  /** Files in a folder that are not in the definition. */
  readonly unread: readonly string[]
  /** Files that were recognised, but another one is surer to be meant. */
  readonly spare: readonly SpareFile[]
  /** The files that were recognised although they have another name, and those that cannot be read, as full sentences. */
  readonly notes: readonly string[]
}

/**
 * Assigns paths to the files of a definition by their names, in any case and with any separators of words. A folder
 * stands for its files, and a workbook for its sheets.
 *
 * @param containers with the archives among the paths opened
 * @param named what each file is that has a name of its own: `enrolments=NAME.csv`
 * @throws {UserError} if a path does not exist, a given file is unknown, or two paths are the same file
 */
export async function selectFiles(
  containers: Containers,
  given: readonly string[],
  definition: Definition,
  named: readonly string[] = [],
): Promise<SelectedFiles> {
  const isFileName = (name: string) => findResource(name, definition) !== undefined
  const paths = await containers.openWorkbooks(given, isFileName)
  const faults: Fault[] = []
  const nameIn = (path: string) => containers.nameOf(path) ?? basename(path)
  const show = (path: string) => containers.nameOf(path) ?? path
  const unread: Unread[] = []
  const notes: string[] = []
  const candidates: Candidate[] = []
  let complete = false
  for (const each of named) {
    const [, name = '', file = ''] = /^([^=]+)=(.+)$/s.exec(each) ?? []
    const path = findPath(file, paths, containers)
    const resource = definition.resources.find(
      (one) => plainName(one.name) === plainName(name) || plainName(stemOf(one.path)) === plainName(name),
    )
    const known = definition.resources.map((one) => one.name)
    if (path === '') {
      const where = existsSync(each) ? '. Name a folder, or other files, before --file' : ''
      faults.push({ file: `--file ${each}`, message: `must have the form NAME=FILE${where}` })
    } else if (resource === undefined)
      faults.push({ file: path, message: `is named ${name}, but the files are ${known.join(', ')}` })
    else if (!isFile(path)) faults.push({ file: path, message: 'is not a file' })
    else candidates.push({ resource, path, name: nameIn(path), match: 'option', given: true })
  }
  const isNamed = new Set(candidates.map(({ path }) => resolve(path)))
  const add = (path: string, given: boolean) => {
    const name = nameIn(path)
    // What a sheet of a workbook is called is not the name of a file.
    const exact = definition.resources.find((each) => each.path === posix.basename(name))
    const found =
      exact === undefined
        ? findResource(basename(path), definition)
        : { resource: exact, match: 'path' as const }
    if (found !== undefined) candidates.push({ ...found, path, name, given })
    else if (given || !definition.unchecked.includes(name)) unread.push({ path, name, given })
  }
  for (const path of paths) {
    if (!existsSync(path)) {
      faults.push({ file: path, message: 'does not exist' })
    } else if (isFolder(path)) {
      complete = true
      for (const { name, resource } of listNested(path, definition)) {
        const file = join(path, name)
        if (isNamed.has(resolve(file))) continue
        const match = name === resource.path ? 'path' : 'name'
        candidates.push({ resource, path: file, name: containers.nameOf(file) ?? name, match, given: false })
      }
      for (const name of listNames(path)) {
        const file = join(path, name)
        if (!isFile(file)) {
          if (findResource(name, definition) !== undefined)
            notes.push(`${name} was not read: it is ${isFolder(file) ? 'a folder' : 'no file'}.`)
        } else if (!isNamed.has(resolve(file)) && !containers.opened.has(resolve(file))) add(file, false)
      }
    } else if (basename(path) !== CHANGES) add(path, true)
  }
  const chosen = new Map<Resource, Candidate>()
  const others: Unread[] = []
  const spare: SpareFile[] = []
  for (const [resource, all] of Map.groupBy(candidates, (each) => each.resource)) {
    const readable = all.filter(({ name, match }) => match === 'option' || !hasOtherFormat(name))
    const group = readable.length > 0 ? readable : all
    const best = chooseBest(group)
    chosen.set(resource, best)
    for (const { name } of all.filter((each) => !group.includes(each)))
      spare.push({ name, resource: resource.name, read: best.name })
    for (const each of group) {
      if (each === best) continue
      if (each.path === best.path) faults.push({ file: show(each.path), message: 'is named twice' })
      else if (each.given || each.match === best.match)
        faults.push(describeTwo(resource, show(best.path), show(each.path)))
      else {
        if (!isExport(each, best)) others.push(each)
        spare.push({ name: each.name, resource: resource.name, read: best.name })
      }
    }
    notes.push(...describeMatch(best))
  }
  const absent = definition.resources.filter((resource) => !chosen.has(resource))
  const recognised = recognise(unread, definition.resources, absent)
  for (const [file, { resource, by }] of recognised) {
    const first = chosen.get(resource)
    if (first === undefined) {
      const candidate: Candidate = { ...file, resource, match: by }
      chosen.set(resource, candidate)
      notes.push(...describeMatch(candidate))
      continue
    }
    const message = `looks like ${resource.path}, and so does ${first.name}; give this name to the right one, and remove the other`
    faults.push({ file: show(file.path), message })
  }
  const left = unread.filter((each) => !recognised.has(each))
  const known = definition.resources.map((each) => each.path).join(', ')
  for (const each of left.filter(({ given }) => given)) {
    const message = `is not a file of the definition ${definition.name}${near(basename(each.path), definition)}; its files are ${known}`
    faults.push(describeType(each, containers)[0] ?? { file: show(each.path), message })
  }
  if (faults.length === 0 && chosen.size === 0)
    faults.push(
      ...paths.map((path) => describeNone(path, definition, containers)),
      ...left.flatMap((each) => describeType(each, containers)).slice(0, SHOWN_NAMES),
    )
  if (faults.length > 0) throw new UserError(faults)
  const lost = [...others, ...left].map((each) => ({
    name: each.name,
    resource: findSure(each.path, definition.resources),
  }))
  const files = [...chosen].map(([resource, { path, name, match }]) => ({
    resource: resource.name,
    path,
    name,
    faults: [
      ...describeFault(containers.faultOf(path)),
      // A person who names a file with --file has decided about the others. One that cannot be read says why itself.
      ...lost
        .filter((each) => each.resource === resource && match !== 'option' && isReadable(path))
        .map((each) => describeLost(each.name, name)),
    ],
  }))
  const notRead: string[] = []
  for (const { name, path } of left) {
    const fault = containers.faultOf(path)
    const format = describeOther(path)
    if (fault !== undefined) notes.push(`${name} was not read. The file ${fault}.`)
    else if (format !== undefined) notes.push(`${name} was not read. It is ${format}`)
    else notRead.push(name)
  }
  return { files, complete, unread: notRead, spare, notes }
}

function describeFault(fault: string | undefined): FileFault[] {
  return fault === undefined ? [] : [{ message: `The file ${fault}.` }]
}

/** What a file is that is no table, whatever its name: the end of a sentence. */
function describeOther(path: string): string | undefined {
  return describeFormat(readBytes(path, 4096))
}

function isReadable(path: string): boolean {
  return statSync(path).size > 0 && describeOther(path) === undefined
}

/** Says why a file is neither a table nor an archive that can be read, and what to do. */
function describeType({ path, name: file }: Pick<Unread, 'path' | 'name'>, containers: Containers): Fault[] {
  const fault = containers.faultOf(path)
  if (fault !== undefined) return [{ file, message: fault }]
  const format = findFormat(readBytes(path, 4096))
  if (format === undefined || format.isContainer) return []
  return [{ file, message: `is ${format.name}. ${format.advice.replace(/\.$/, '')}` }]
}

/** Why a selected file cannot be read, after its name; `undefined` if it may be. */
export function describeUnreadable({ path, name }: InputFile): string | undefined {
  const start = readBytes(path, 4096)
  // A service reads an archive or a workbook of one file whatever its name.
  if (findFormat(start)?.isContainer && !hasOtherFormat(name)) return undefined
  const format = describeFormat(start)
  return format === undefined ? undefined : `is ${format}`
}

function describeLost(name: string, read: string): FileFault {
  return {
    message: `${name} has the columns of ${read}, and was not read. Put its records into ${read}, or remove it from the folder.`,
    group: `lost:${name}`,
  }
}

/** Says what is in a folder, an archive or a workbook without a file of the definition, and what to do. */
function describeNone(path: string, definition: Definition, containers: Containers): Fault {
  const packed = containers.nameOf(path)
  const none = (rest: string) => ({
    file: packed ?? path,
    message: `has none of the files of the definition ${definition.name}${rest}`,
  })
  const known = `: ${definition.resources.map((each) => each.path).join(', ')}`
  if (!isFolder(path)) return none(known)
  const advise = (inner: string) =>
    packed === undefined ? `Check ${join(path, inner)}` : `Unpack it, and check ${inner}`
  const [folder, ...folders] = readdirSync(path, { withFileTypes: true })
    .filter((each) => each.isDirectory() && !isJunk(each.name))
    .map(({ name }) => name)
    .filter((name) =>
      listFiles(join(path, name)).some((each) => findResource(each, definition) !== undefined),
    )
    .sort()
  if (folder !== undefined && folders.length > 0)
    return none(`, but its folders ${[folder, ...folders].join(', ')} have. Check one of them`)
  if (folder !== undefined) return none(`, but its folder ${folder} has. ${advise(folder)}`)
  const there = listFiles(path).filter((name) => !containers.opened.has(resolve(join(path, name))))
  const archive = there.find((name) => /\.zip$/i.test(name))
  if (archive !== undefined) return none(`, but it has the archive ${archive}. ${advise(archive)}`)
  const tables = there.filter(
    (name) => describeType({ name, path: join(path, name) }, containers).length === 0,
  )
  const names = tables.map((name) => containers.nameOf(join(path, name)) ?? name).slice(0, SHOWN_NAMES)
  const more = tables.length > names.length ? ` and ${count(tables.length - names.length, 'other')}` : ''
  return none(names.length === 0 ? known : `${known}. Rename what is there: ${names.join(', ')}${more}`)
}

/** The names of other files that a message shows. */
const SHOWN_NAMES = 5

/** How a file was recognised, the surest first. */
const MATCHES = ['option', 'path', 'name', 'spelling', 'title', 'pattern', 'columns', 'words'] as const

/** A file that may be one of the definition. */
interface Candidate {
  readonly resource: Resource
  readonly path: string
  readonly name: string
  readonly match: (typeof MATCHES)[number]
  /** The pattern that its name matches. */
  readonly pattern?: string
  /** Whether it was given itself, not only its folder. */
  readonly given: boolean
}

type Unread = Pick<Candidate, 'path' | 'name' | 'given'>

/** Whether a file is the one of the definition in another format, as publishers add it for people. */
function isExport({ name, match }: Candidate, best: Candidate): boolean {
  return best.match === 'path' && match === 'name' && posix.extname(name) !== posix.extname(best.name)
}

function chooseBest(candidates: readonly Candidate[]): Candidate {
  return candidates.reduce((best, each) =>
    MATCHES.indexOf(each.match) < MATCHES.indexOf(best.match) ? each : best,
  )
}

/** Two files are of one kind, and nothing says which is meant. */
export function describeTwo({ title }: Pick<Resource, 'title'>, one: string, other: string): Fault {
  return { file: other, message: `is ${title}, and so is ${one}; leave one of them out` }
}

/** Where a file is that may be named as it is in a folder that is checked. */
function findPath(path: string, folders: readonly string[], containers: Containers): string {
  if (path === '' || existsSync(path)) return path
  const inFolders = folders.map((folder) => join(folder, path)).find((each) => existsSync(each))
  return inFolders ?? containers.locate(path) ?? path
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function isJsonList(path: string): boolean {
  return isFile(path) && findFormat(readBytes(path, 4096))?.name === JSON_LIST
}

function listFiles(folder: string): string[] {
  return listNames(folder).filter((name) => isFile(join(folder, name)))
}

/** What is named like a file of data, whether it is one or not. */
function listNames(folder: string): string[] {
  return (
    readdirSync(folder)
      .filter((name) => ENDING.test(name) && !isJunk(name) && name !== CHANGES)
      // Other JSON is a descriptor, or describes something else.
      .filter((name) => !/\.json$/i.test(name) || isJsonList(join(folder, name)))
      .sort()
  )
}

/** The files of resources whose path names a folder within the given one. */
function listNested(folder: string, { resources }: Definition): { name: string; resource: Resource }[] {
  return resources.flatMap((resource) => {
    const inner = posix.dirname(resource.path)
    if (inner === '.' || !isFolder(join(folder, inner))) return []
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

/** The file of a definition that has a name, and how it was recognised. */
function findResource(
  name: string,
  { resources }: Definition,
): Pick<Candidate, 'resource' | 'match' | 'pattern'> | undefined {
  const stem = stemOf(name)
  const plain = plainName(stem)
  const find = (match: Candidate['match'], isMeant: (each: Resource) => boolean) => {
    const resource = resources.find(isMeant)
    return resource === undefined ? undefined : { resource, match }
  }
  return (
    find('name', (each) => stem === stemOf(each.name) || stem === pathStem(each)) ??
    find('spelling', (each) => plain === plainName(each.name) || plain === plainName(pathStem(each))) ??
    find('title', (each) => plain === plainName(each.title)) ??
    resources
      .flatMap((resource) =>
        resource.fileNames
          .filter((pattern) => matches(stem, pattern))
          .map((pattern) => ({ resource, match: 'pattern' as const, pattern })),
      )
      .at(0)
  )
}

/** A note of a name that is not the file's own. */
function describeMatch({ resource, name, match, pattern }: Candidate): string[] {
  if (match === 'option' || match === 'path' || match === 'name') return []
  const because: Partial<Record<Candidate['match'], string>> = {
    title: `, because its name is the title ${resource.title}`,
    pattern: `, because its name matches ${pattern}`,
    columns: ', because it has its columns',
    words: ', because its name is like it',
  }
  return [`The file ${name} was read as ${posix.basename(resource.path)}${because[match] ?? ''}.`]
}

function pathStem({ path }: Resource): string {
  return stemOf(posix.basename(path))
}

function stemOf(name: string): string {
  return name.replace(ENDING, '').toLowerCase()
}

/** Not by a regular expression: with two stars, the time for a long name in an archive would grow with its square. */
function matches(stem: string, pattern: string): boolean {
  const [start = '', ...parts] = pattern.toLowerCase().split('*')
  const end = parts.pop()
  if (end === undefined) return stem === start
  let from = start.length
  for (const part of parts) {
    const at = stem.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return stem.startsWith(start) && stem.endsWith(end) && from + end.length <= stem.length
}
