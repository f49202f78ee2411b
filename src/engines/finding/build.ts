import {
  NAME_FIELDS,
  type NameField,
  type SearchDocument,
  type SearchGroup,
  type SearchName,
} from './document.ts'
import { hashText, KIND } from './features.ts'
import { fold, looseKey } from './fold.ts'
import { type GroupName, type IndexData, packKind, packTexts, readText, TextWriter } from './index-data.ts'
import { INDEX_FORMAT } from './index-file.ts'
import { analyseLatentSemantics } from './latent-semantics.ts'
import { bytes, integers, NumberList } from './number-list.ts'
import { invert, type SparseRows, transpose } from './sparse.ts'
import { Spellings } from './spellings.ts'
import { stem } from './stem.ts'
import { toPhrase } from './synonyms.ts'
import { trainOnNames } from './training.ts'

/** BM25's saturation, and the weight of a word by its position. */
const SATURATION = 1.2
const IN_FIELD: Readonly<Record<NameField, number>> = {
  title: 6,
  pluralTitle: 3,
  alternativeTitle: 3,
  searchOnly: 3,
}
const DIMENSIONS = 64

interface Options {
  readonly revision: string
  readonly synonyms?: readonly (readonly string[])[]
}

/**
 * Builds the index of a catalogue that does not fit into memory: of each document it keeps the words and names, as
 * numbers and bytes. Finishing it takes seconds of CPU time, so it must not happen in a process that serves requests.
 */
export class IndexBuilder {
  readonly #onStep: () => void
  readonly #spellings = new Spellings()
  readonly #codes = new TextWriter()
  readonly #names = new TextWriter()
  readonly #nameKind = new NumberList(bytes)
  /** In hundredths. */
  readonly #nameWeight = new NumberList(integers)
  readonly #nameOwner = new NumberList(integers)
  readonly #nameKey = new NumberList(integers)
  readonly #nameWordStart = new NumberList(integers)
  /** Words of names by the numbers of `#spellings`. */
  readonly #nameWord = new NumberList(integers)
  readonly #occupationNames = new NumberList(integers)
  readonly #majorGroups = new GroupList()
  readonly #minorGroups = new GroupList()

  /** @param onStep called often; what it throws ends the build */
  constructor(onStep: () => void = () => undefined) {
    this.#onStep = onStep
    this.#nameWordStart.push(0)
    this.#occupationNames.push(0)
  }

  /** Adds a document; they come in the order of their codes. */
  add({ code, texts, names, majorGroups, minorGroups }: SearchDocument): void {
    const owner = this.#occupationNames.length - 1
    this.#codes.add(code)
    for (const { text, weight } of texts) this.#spellings.read(text, 1, weight)
    // Titles come first, and those that are never shown last: readers stop at the first name of another field.
    const rank = ({ field }: SearchName) => NAME_FIELDS.indexOf(field)
    for (const name of [...names].sort((a, b) => rank(a) - rank(b))) this.#addName(owner, name)
    this.#spellings.endOccupation()
    this.#occupationNames.push(this.#nameKind.length)
    this.#majorGroups.add(majorGroups)
    this.#minorGroups.add(minorGroups)
  }

  #addName(owner: number, { text, field, language, weight = 1, confirmed = false }: SearchName): void {
    for (const word of this.#spellings.read(text, 5, IN_FIELD[field] * weight)) this.#nameWord.push(word)
    this.#nameWeight.push(Math.round(weight * 100))
    this.#nameWordStart.push(this.#nameWord.length)
    this.#names.add(text)
    this.#nameKind.push(packKind(language, field, confirmed))
    this.#nameOwner.push(owner)
    this.#nameKey.push(hashText(looseKey(fold(text)), 0))
  }

  finish({ revision, synonyms = [] }: Options): IndexData {
    const onStep = this.#onStep
    const spellings = this.#spellings
    /** The words by their final numbers, and the final numbers of words. */
    const order = Uint32Array.from(spellings.words.keys()).sort((a, b) =>
      compareUnits(spellings.words[a] as string, spellings.words[b] as string),
    )
    const words = order.length
    const ids = new Uint32Array(words)
    order.forEach((word, id) => {
      ids[word] = id
    })
    const occupations = this.#occupationNames.length - 1
    const texts = spellings.finish()
    renumber(texts.column, ids)
    const term = (id: number) => spellings.words[order[id] as number] as string
    onStep()
    const semantics = analyseLatentSemantics(texts, words, DIMENSIONS, onStep)
    const names = this.#names.finish()
    const nameWord = this.#nameWord.finish()
    renumber(nameWord, ids)
    const nameWordStart = this.#nameWordStart.finish()
    const trained = trainOnNames(
      {
        owners: this.#nameOwner.finish(),
        importance: Float32Array.from(this.#nameWeight.finish(), (hundredths) => hundredths / 100),
        text: (name) => readText(names, name),
        terms: (name) =>
          Array.from(nameWord.subarray(nameWordStart[name], nameWordStart[name + 1]), (id) => term(id)),
      },
      { ...semantics, term },
      onStep,
    )
    const majorGroups = this.#majorGroups
    const minorGroups = this.#minorGroups
    return {
      header: {
        format: INDEX_FORMAT,
        revision,
        occupations,
        dimensions: semantics.dimensions,
        majorGroups: majorGroups.names,
        minorGroups: minorGroups.names,
        synonyms: synonyms.map((phrases) => phrases.map(toPhrase)),
      },
      codes: this.#codes.finish(),
      words: packTexts(order.values().map((word) => spellings.words[word] as string)),
      wordCount: order.map((word) => spellings.counts[word] as number),
      spellings: packTexts(order.values().map((word) => spellings.commonest(word))),
      wordStem: Uint32Array.from(order, (word) => hashText(stem(spellings.words[word] ?? ''), KIND.stem)),
      ...trained,
      texts: weighTexts(texts, words),
      names,
      nameKind: this.#nameKind.finish(),
      occupationNames: this.#occupationNames.finish(),
      nameWordStart,
      nameWord,
      wordNames: invert({ start: nameWordStart, column: nameWord }, words),
      pairHash: hashPairs(nameWordStart, nameWord, term),
      ...sortKeys(this.#nameKey.finish()),
      majorStart: majorGroups.start.finish(),
      major: majorGroups.groups.finish(),
      minorStart: minorGroups.start.finish(),
      minor: minorGroups.groups.finish(),
    }
  }
}

function compareUnits(one: string, other: string): number {
  return one < other ? -1 : 1
}

/** The hashes of the words that are neighbours in a name, each once, ascending. */
function hashPairs(start: Uint32Array, words: Uint32Array, term: (word: number) => string): Uint32Array {
  const pairs = new NumberList(integers)
  for (let name = 0; name < start.length - 1; name++) {
    for (let at = (start[name] as number) + 1; at < (start[name + 1] as number); at++)
      pairs.push(hashText(term(words[at - 1] as number) + term(words[at] as number), KIND.pair))
  }
  return pairs
    .finish()
    .sort()
    .filter((hash, at, sorted) => hash !== sorted[at - 1])
}

/** Replaces numbers by others, in place. */
function renumber(numbers: Uint32Array, ids: Uint32Array): void {
  for (let at = 0; at < numbers.length; at++) numbers[at] = ids[numbers[at] as number] as number
}

/** Replaces the weights by BM25's, in place, and orders them by word. */
function weighTexts({ start, column, value }: SparseRows, words: number): SparseRows {
  const lengths = Float64Array.from({ length: start.length - 1 }, (_, row) => {
    return value.subarray(start[row], start[row + 1]).reduce((sum, each) => sum + each, 0)
  })
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length) || 1
  lengths.forEach((length, row) => {
    const norm = SATURATION * (0.25 + (0.75 * length) / mean)
    for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
      const count = value[at] as number
      value[at] = (count * (SATURATION + 1)) / (count + norm)
    }
  })
  return transpose({ start, column, value }, words)
}

/** The hashes of names in ascending order, and the names in that order. */
function sortKeys(keys: Uint32Array): Pick<IndexData, 'keyHash' | 'keyName'> {
  const keyName = Uint32Array.from(keys.keys()).sort(
    (a, b) => (keys[a] as number) - (keys[b] as number) || a - b,
  )
  return { keyHash: Uint32Array.from(keyName, (name) => keys[name] as number), keyName }
}

/** The groups of occupations, one list after another. */
class GroupList {
  readonly names: GroupName[] = []
  readonly start = new NumberList(integers)
  readonly groups = new NumberList(integers)
  readonly #ids = new Map<string, number>()

  constructor() {
    this.start.push(0)
  }

  add(list: readonly SearchGroup[]): void {
    for (const { code, nameEnglish, relation } of list) {
      const id = this.#ids.get(code) ?? this.#ids.size
      if (id === this.#ids.size) this.names.push({ code, ...(nameEnglish !== undefined && { nameEnglish }) })
      this.#ids.set(code, id)
      this.groups.push(id * 2 + (relation === 'Primary' ? 1 : 0))
    }
    this.start.push(this.groups.length)
  }
}
