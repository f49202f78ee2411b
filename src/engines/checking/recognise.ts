import { posix } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { findSimilar } from '../../foundation/text/suggest.ts'
import { detectSeparator, findUtf16, trimName } from '../records/index.ts'
import type { Resource } from './definition/definition.ts'
import { readBytes } from './definition/is-file.ts'
import { plainName } from './engine/columns.ts'
import { splitStart } from './engine/first-line.ts'

/** The bytes of a file that are looked at. */
const LOOKED_AT = 64 * 1024
/** The part of a file's columns that a table has, if it is this file, and that of its own columns that are known. */
const LEAST_COLUMNS = 0.5
/** The same if the table is surely this file. */
const LEAST_SURE = 0.8
/** The shortest name of a file that is recognised within another name, such as `courses` in `courses_final`. */
const LEAST_CONTAINED = 5

/** A file that may be one of a definition. */
interface Unknown {
  readonly path: string
  /** In findings: with the archive or workbook that it is in. */
  readonly name: string
}

/** What a file probably is, and what says so. */
interface Recognised {
  readonly resource: Resource
  readonly by: 'columns' | 'words'
}

/** What files probably are: by their columns first, and then by the words of their names. */
export function recognise<File extends Unknown>(
  files: readonly File[],
  resources: readonly Resource[],
  absent: readonly Resource[],
): Map<File, Recognised> {
  const found = new Map<File, Recognised>()
  for (const file of files) {
    const resource = findByColumns(file.path, resources)?.resource
    if (resource !== undefined && absent.includes(resource)) found.set(file, { resource, by: 'columns' })
  }
  const taken = new Set([...found.values()].map(({ resource }) => resource))
  const free = absent.filter((resource) => !taken.has(resource))
  for (const file of files) {
    const resource = found.has(file) ? undefined : findByWords(file.name, free)
    if (resource !== undefined) found.set(file, { resource, by: 'words' })
  }
  return found
}

/** The file whose columns a table surely has: nearly all of them, and few others. */
export function findSure(path: string, resources: readonly Resource[]): Resource | undefined {
  const found = findByColumns(path, resources)
  return found?.isSure === true ? found.resource : undefined
}

/** The file of which a table has the largest part of the columns, at least half of them. */
function findByColumns(
  path: string,
  resources: readonly Resource[],
): { readonly resource: Resource; readonly isSure: boolean } | undefined {
  const lines = splitStart(readStart(path))
  const shares = resources.map((resource) => {
    const names = resource.fields.map(({ name, synonyms }) => [name, ...synonyms].map(plainName))
    const known = lines.map((line) => {
      const columns = listColumns(line, resource)
      const count = names.filter((each) => each.some((name) => columns.has(name))).length
      return { count, width: Math.max(columns.size, names.length) }
    })
    const { count, width } = known.reduce((one, other) => (other.count > one.count ? other : one))
    return { resource, share: count > 1 ? count / names.length : 0, isSure: count >= LEAST_SURE * width }
  })
  const [best, second] = shares.toSorted((one, other) => other.share - one.share)
  return best !== undefined && best.share >= LEAST_COLUMNS && best.share !== second?.share ? best : undefined
}

function listColumns(line: string, { fields }: Resource): ReadonlySet<string> {
  const names = fields.flatMap(({ name, synonyms }) => [name, ...synonyms])
  const cells = line.trimStart().startsWith('{')
    ? Array.from(line.matchAll(/"([^"\\]+)"\s*:/g), ([, name = '']) => name)
    : line.split(detectSeparator(line, names))
  return new Set(cells.map((cell) => plainName(trimName(cell))))
}

/** The only file whose name is much like that of a table, or within it or that of its workbook. */
function findByWords(name: string, resources: readonly Resource[]): Resource | undefined {
  const base = posix.basename(name).replace(/(?:\.\w{2,8}){1,2}$/, '')
  const similar = findSimilar(
    base,
    resources.map((resource) => resource.name),
  )
  return (
    resources.find((resource) => resource.name === similar) ??
    findWithin(plainName(base), resources) ??
    findWithin(plainName(name), resources)
  )
}

/** The only file whose name or title is within a text, apart from those that are a part of it: `courses`. */
function findWithin(text: string, resources: readonly Resource[]): Resource | undefined {
  const found = resources.flatMap((resource) => {
    const words = [resource.name, resource.title].map((each) => plainName(each).replace(/s$/, ''))
    const [longest = ''] = words
      .filter((each) => each.length >= LEAST_CONTAINED && text.includes(each))
      .sort((one, other) => other.length - one.length)
    return longest === '' ? [] : [{ resource, words: longest }]
  })
  const [best, ...others] = found.sort((one, other) => other.words.length - one.words.length)
  return others.every(({ words }) => best?.words.includes(words)) ? best?.resource : undefined
}

/** The start of a file of text; empty for what is none. */
function readStart(path: string): string {
  const bytes = readBytes(path, LOOKED_AT)
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  try {
    const start = isGzip
      ? gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: LOOKED_AT * 16 })
      : bytes
    return start.includes(0) && findUtf16(start) === undefined
      ? ''
      : new TextDecoder(findUtf16(start)).decode(start)
  } catch {
    return ''
  }
}
