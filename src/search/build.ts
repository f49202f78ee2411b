import { compareCodePoints } from '../text/code-points.ts'
import { trainClassifier } from './classifier.ts'
import type { Language, NameField, SearchDocument, SearchGroup } from './document.ts'
import { featuresOf, hashText, isGram, KIND } from './features.ts'
import { looseKey, splitWords } from './fold.ts'
import { type GroupName, type IndexData, packKind, packTexts } from './index-data.ts'
import { INDEX_FORMAT } from './index-file.ts'
import { analyseMeaning } from './meaning.ts'
import { RowWriter, type SparseRows, transpose } from './sparse.ts'
import { STOP_WORDS, singular, stem } from './stem.ts'
import { packVocabulary } from './vocabulary.ts'

/** BM25's saturation; and how much a word counts by where it is. */
const SATURATION = 1.2
const IN_FIELD: Readonly<Record<NameField, number>> = {
  title: 6,
  pluralTitle: 3,
  alternativeTitle: 3,
  searchOnly: 3,
}
const DIMENSIONS = 64

/** A character n-gram that more occupations have says little, and costs most of the time. */
const COMMON_GRAM = 150

interface Name {
  readonly text: string
  readonly owner: number
  readonly field: NameField
  readonly language: Language
  readonly terms: readonly string[]
}

/**
 * Builds the index of a catalogue: takes seconds of CPU time, so it belongs in a worker thread or a command. The same
 * documents give the same index.
 */
export function buildIndex(
  documents: readonly SearchDocument[],
  options: { revision: string; synonyms?: readonly (readonly string[])[] },
): IndexData {
  const sorted = [...documents].sort((a, b) => compareCodePoints(a.code, b.code))
  const spelling = new Spellings()
  const names = sorted.flatMap((document, owner) =>
    document.names.map(({ text, field, language }): Name => {
      return { text, owner, field, language, terms: spelling.read(text, 5) }
    }),
  )
  const texts = sorted.map((document) =>
    document.texts.map(({ text, weight }) => ({ terms: spelling.read(text, 1), weight })),
  )
  const { data: vocabulary, ids } = packVocabulary(spelling.counts)
  const counts = sorted.map(() => new Map<number, number>())
  const count = (owner: number, terms: readonly string[], weight: number) => {
    const own = counts[owner]
    if (own === undefined || weight === 0) return
    for (const term of terms) {
      const id = STOP_WORDS.has(term) ? undefined : ids.get(term)
      if (id !== undefined) own.set(id, (own.get(id) ?? 0) + weight)
    }
  }
  texts.forEach((list, owner) => {
    for (const { terms, weight } of list) count(owner, terms, weight)
  })
  for (const { owner, terms, field } of names) count(owner, terms, IN_FIELD[field])
  const words = vocabulary.wordCount.length
  const meaning = analyseMeaning(weighForMeaning(counts, words), words, DIMENSIONS)
  const learnt = learn(names, sorted.length)
  const majorGroups = new GroupList(sorted.map((document) => document.majorGroups))
  const minorGroups = new GroupList(sorted.map((document) => document.minorGroups))
  return {
    header: {
      format: INDEX_FORMAT,
      revision: options.revision,
      occupations: sorted.length,
      dimensions: meaning.dimensions,
      majorGroups: majorGroups.names,
      minorGroups: minorGroups.names,
      synonyms: (options.synonyms ?? []).map((phrases) =>
        phrases.map((phrase) => splitWords(phrase).map(({ word }) => singular(word))),
      ),
    },
    codes: packTexts(sorted.map(({ code }) => code)),
    vocabulary,
    spellings: packTexts([...ids.keys()].map((word) => spelling.commonest(word))),
    wordStem: Uint32Array.from(ids.keys(), (word) => hashText(stem(word), KIND.stem)),
    ...learnt,
    texts: weighTexts(counts, words),
    wordMeaning: meaning.words,
    occupationMeaning: meaning.occupations,
    ...packNames(names, ids, sorted.length),
    majorStart: majorGroups.start,
    major: majorGroups.groups,
    minorStart: minorGroups.start,
    minor: minorGroups.groups,
  }
}

/** Counts words, and how each is spelt. */
class Spellings {
  readonly counts = new Map<string, number>()
  readonly #spellings = new Map<string, Map<string, number>>()

  read(text: string, weight: number): string[] {
    return splitWords(text).map(({ word, from, to }) => {
      const term = singular(word)
      this.counts.set(term, (this.counts.get(term) ?? 0) + weight)
      const written = text.slice(from, to).toLowerCase()
      if (written === term) return term
      const spellings = this.#spellings.get(term) ?? new Map<string, number>()
      spellings.set(written, (spellings.get(written) ?? 0) + Math.max(1, weight))
      this.#spellings.set(term, spellings)
      return term
    })
  }

  /** Another spelling than the folded one only where that is the only way in which the catalogue writes the word. */
  commonest(term: string): string {
    const spellings = [...(this.#spellings.get(term) ?? [])]
    const [best] = spellings.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    if (best === undefined) return term
    const others = (this.counts.get(term) ?? 0) - best[1]
    return best[1] > others ? best[0] : term
  }
}

function weighTexts(counts: readonly Map<number, number>[], words: number): SparseRows {
  const lengths = counts.map((own) => [...own.values()].reduce((sum, value) => sum + value, 0))
  const mean = lengths.reduce((sum, value) => sum + value, 0) / Math.max(1, lengths.length) || 1
  const rows = new RowWriter()
  counts.forEach((own, owner) => {
    const norm = SATURATION * (0.25 + (0.75 * (lengths[owner] ?? 0)) / mean)
    for (const [word, tf] of own) rows.add(word, (tf * (SATURATION + 1)) / (tf + norm))
    rows.endRow()
  })
  return transpose(rows.finish(), words)
}

function weighForMeaning(counts: readonly Map<number, number>[], words: number): SparseRows {
  const holders = new Uint32Array(words)
  for (const own of counts) for (const word of own.keys()) holders[word] = (holders[word] as number) + 1
  const rows = new RowWriter()
  for (const own of counts) {
    const entries = [...own]
      .filter(([word]) => (holders[word] as number) > 1)
      .map(([word, n]): [number, number] => [
        word,
        Math.log(1 + n) * Math.log(1 + counts.length / (holders[word] as number)),
      ])
    const length = Math.sqrt(entries.reduce((sum, [, value]) => sum + value * value, 0)) || 1
    for (const [word, value] of entries) rows.add(word, value / length)
    rows.endRow()
  }
  return rows.finish()
}

function learn(names: readonly Name[], occupations: number) {
  const ids = new Map<number, number>()
  /** By feature: how many occupations have it, and the last of them. */
  const holders: number[] = []
  const last: number[] = []
  const all = new RowWriter()
  for (const { text, terms, owner } of names) {
    for (const [hash, weight] of featuresOf(text, terms)) {
      let id = ids.get(hash)
      if (id === undefined) {
        id = ids.size
        ids.set(hash, id)
        holders.push(0)
        last.push(-1)
      }
      if (last[id] !== owner) {
        last[id] = owner
        holders[id] = (holders[id] ?? 0) + 1
      }
      all.add(id, weight)
    }
    all.endRow()
  }
  const kept = new Map<number, number>()
  const renumbered = new Int32Array(ids.size).fill(-1)
  for (const [hash, id] of ids) {
    if (isGram(hash) && (holders[id] ?? 0) > COMMON_GRAM) continue
    renumbered[id] = kept.size
    kept.set(hash, kept.size)
  }
  const examples = normaliseExamples(all.finish(), renumbered)
  const owners = Uint32Array.from(names, ({ owner }) => owner)
  const { weights, bias } = trainClassifier(examples, owners, { occupations, features: kept.size })
  return { ...packFeatures(kept), weights, bias }
}

/** Square roots of the weights of the features that are kept, each example of length 1. */
function normaliseExamples({ start, column, value }: SparseRows, renumbered: Int32Array): SparseRows {
  const rows = new RowWriter()
  for (let row = 0; row + 1 < start.length; row++) {
    const [from, to] = [start[row] as number, start[row + 1] as number]
    let sum = 0
    for (let at = from; at < to; at++) {
      if ((renumbered[column[at] as number] as number) >= 0) sum += value[at] as number
    }
    const length = Math.sqrt(sum) || 1
    for (let at = from; at < to; at++) {
      const id = renumbered[column[at] as number] as number
      if (id >= 0) rows.add(id, Math.sqrt(value[at] as number) / length)
    }
    rows.endRow()
  }
  return rows.finish()
}

function packFeatures(ids: ReadonlyMap<number, number>) {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(2, ids.size * 1.5)))
  const [featureHash, featureId] = [new Uint32Array(slots), new Uint32Array(slots)]
  for (const [hash, id] of ids) {
    let slot = (hash >>> 1) & (slots - 1)
    while (featureId[slot] !== 0) slot = (slot + 1) & (slots - 1)
    featureHash[slot] = hash
    featureId[slot] = id + 1
  }
  return { featureHash, featureId }
}

function packNames(names: readonly Name[], ids: ReadonlyMap<string, number>, occupations: number) {
  const occupationNames = new Uint32Array(occupations + 1)
  for (const { owner } of names) occupationNames[owner + 1] = (occupationNames[owner + 1] as number) + 1
  for (let at = 0; at < occupations; at++) {
    occupationNames[at + 1] = (occupationNames[at + 1] as number) + (occupationNames[at] as number)
  }
  const nameWordStart = new Uint32Array(names.length + 1)
  names.forEach(({ terms }, at) => {
    nameWordStart[at + 1] = (nameWordStart[at] as number) + terms.length
  })
  const keys = names.map(({ text }) =>
    hashText(
      looseKey(
        splitWords(text)
          .map(({ word }) => word)
          .join(' '),
      ),
      0,
    ),
  )
  const order = Uint32Array.from(names.keys()).sort(
    (a, b) => (keys[a] as number) - (keys[b] as number) || a - b,
  )
  return {
    names: packTexts(names.map(({ text }) => text)),
    nameKind: Uint8Array.from(names, ({ language, field }) => packKind(language, field)),
    occupationNames,
    nameWordStart,
    nameWord: Uint32Array.from(names.flatMap(({ terms }) => terms.map((term) => ids.get(term) ?? 0))),
    keyHash: Uint32Array.from(order, (name) => keys[name] as number),
    keyName: order,
  }
}

class GroupList {
  readonly names: GroupName[] = []
  readonly start: Uint32Array
  readonly groups: Uint32Array

  constructor(lists: readonly (readonly SearchGroup[])[]) {
    const ids = new Map<string, number>()
    const groups: number[] = []
    this.start = new Uint32Array(lists.length + 1)
    lists.forEach((list, at) => {
      for (const { code, nameEnglish, relation } of list) {
        const id = ids.get(code) ?? ids.size
        if (id === ids.size) this.names.push({ code, ...(nameEnglish !== undefined && { nameEnglish }) })
        ids.set(code, id)
        groups.push(id * 2 + (relation === 'Primary' ? 1 : 0))
      }
      this.start[at + 1] = groups.length
    })
    this.groups = Uint32Array.from(groups)
  }
}
