import { isAscii } from 'node:buffer'
import { type Language, NAME_FIELDS, type NameField } from './document.ts'
import { bytes, integers, NumberList } from './number-list.ts'
import type { NumberLists, SparseRows } from './sparse.ts'

/**
 * The index as typed arrays, so that it can be stored in one piece and shared between threads without copying.
 * Occupations, names and words are numbered: occupations by code, names by occupation.
 */
export interface IndexData {
  readonly header: IndexHeader
  readonly codes: TextList
  /** The words of the catalogue, folded and singular, in the order of their UTF-16 units, and how often each is used. */
  readonly words: TextList
  readonly wordCount: Uint32Array
  /** The most common spelling of each word, in lower case with macrons. */
  readonly spellings: TextList
  /** A hash of each word's stem. */
  readonly wordStem: Uint32Array
  /** A hash table of features: `id + 1`, or 0 for a free slot, in open addressing. */
  readonly featureHash: Uint32Array
  readonly featureId: Uint32Array
  /** Vectors of features and of occupations. */
  readonly featureVectors: Float32Array
  readonly occupationVectors: Float32Array
  /** BM25 of words in the names and texts of occupations, by word. */
  readonly texts: SparseRows
  readonly names: TextList
  /** Language and field of each name, and whether a person confirmed it, as `packKind` packs them. */
  readonly nameKind: Uint8Array
  /** The names of occupation `o`, in the order of their fields, are `occupationNames[o]` to `occupationNames[o + 1] - 1`. */
  readonly occupationNames: Uint32Array
  readonly nameWordStart: Uint32Array
  readonly nameWord: Uint32Array
  /** The names that have each word. */
  readonly wordNames: NumberLists
  /** Hashes of words that are neighbours in a name, ascending. */
  readonly pairHash: Uint32Array
  /** Hashes of the loose keys of names, ascending, and the names in that order. */
  readonly keyHash: Uint32Array
  readonly keyName: Uint32Array
  /** Groups of occupations as `group * 2 + (Primary ? 1 : 0)`, the Primary first. */
  readonly majorStart: Uint32Array
  readonly major: Uint32Array
  readonly minorStart: Uint32Array
  readonly minor: Uint32Array
}

export interface IndexHeader {
  /** An index in another format is rebuilt. */
  readonly format: number
  readonly revision: string
  readonly occupations: number
  readonly dimensions: number
  readonly majorGroups: readonly GroupName[]
  readonly minorGroups: readonly GroupName[]
  /** Phrases of the same meaning, each as folded, singular words. */
  readonly synonyms: readonly (readonly (readonly string[])[])[]
}

export interface GroupName {
  readonly code: string
  readonly nameEnglish?: string
}

/** Texts in UTF-8, one after another. */
export interface TextList {
  readonly start: Uint32Array
  readonly bytes: Uint8Array
}

export class TextWriter {
  readonly #start = new NumberList(integers)
  readonly #bytes = new NumberList(bytes)

  constructor() {
    this.#start.push(0)
  }

  add(text: string): void {
    this.#bytes.append(Buffer.from(text))
    this.#start.push(this.#bytes.length)
  }

  finish(): TextList {
    return { start: this.#start.finish(), bytes: this.#bytes.finish() }
  }
}

export function packTexts(texts: Iterable<string>): TextList {
  const writer = new TextWriter()
  for (const text of texts) writer.add(text)
  return writer.finish()
}

export function readText({ start, bytes }: TextList, at: number): string {
  const [from, to] = [start[at] ?? 0, start[at + 1] ?? 0]
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
}

/** All texts of a list. */
export function readTexts(list: TextList): string[] {
  return Array.from({ length: list.start.length - 1 }, (_, at) => readText(list, at))
}

/** Whether a text has no letter beyond ASCII, without decoding it. */
export function isAsciiText({ start, bytes }: TextList, at: number): boolean {
  return isAscii(bytes.subarray(start[at], start[at + 1]))
}

/** The place of the first number of an ascending list that is not less than another. */
export function findFirst(ascending: Uint32Array, number: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ascending[middle] as number) < number) low = middle + 1
    else high = middle
  }
  return low
}

export function packKind(language: Language, field: NameField, confirmed: boolean): number {
  return NAME_FIELDS.indexOf(field) * 2 + (language === 'mi' ? 1 : 0) + (confirmed ? CONFIRMED : 0)
}

const CONFIRMED = 2 * NAME_FIELDS.length

export function isConfirmed(kind: number): boolean {
  return kind >= CONFIRMED
}

/** The number of a name's field, as in `NAME_FIELDS`. */
export function readField(kind: number): number {
  return (kind % CONFIRMED) >> 1
}

interface NameKind {
  readonly language: Language
  readonly field: NameField
}

/** By packed kind: a query reads the kinds of thousands of names. */
const KINDS: readonly NameKind[] = NAME_FIELDS.flatMap((field): NameKind[] => [
  { language: 'en', field },
  { language: 'mi', field },
])

export function readKind(kind: number): NameKind {
  return KINDS[kind % CONFIRMED] ?? { language: 'en', field: 'searchOnly' }
}

/** The titles of an occupation, which are its first names. */
export function* titlesOf({ occupationNames, nameKind }: IndexData, occupation: number): Generator<number> {
  const end = occupationNames[occupation + 1] as number
  for (let name = occupationNames[occupation] as number; name < end; name++) {
    if (readKind(nameKind[name] as number).field !== 'title') return
    yield name
  }
}
