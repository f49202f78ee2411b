import { compareCodePoints } from '../text/code-points.ts'
import type { Language, NameField, SearchDocument, SearchGroup } from './document.ts'
import { hashText, KIND } from './features.ts'
import { fold, looseKey, splitWords } from './fold.ts'
import { type GroupName, type IndexData, packKind, packTexts } from './index-data.ts'
import { INDEX_FORMAT } from './index-file.ts'
import { type Example, learnNames } from './learn.ts'
import { analyseMeaning } from './meaning.ts'
import { RowWriter, type SparseRows, transpose } from './sparse.ts'
import { Spellings } from './spellings.ts'
import { singular, stem } from './stem.ts'
import { packVocabulary } from './vocabulary.ts'

/** BM25's saturation, and the weight of a word by its position. */
const SATURATION = 1.2
const IN_FIELD: Readonly<Record<NameField, number>> = {
  title: 6,
  pluralTitle: 3,
  alternativeTitle: 3,
  searchOnly: 3,
}
const DIMENSIONS = 64

interface Name extends Example {
  readonly field: NameField
  readonly language: Language
  /** Its words, in the order of first occurrence. */
  readonly words: readonly number[]
}

/**
 * Builds the index of a catalogue. This takes seconds of CPU time, so it should run in a worker thread or a command.
 * The same documents always give the same index.
 */
export function buildIndex(
  documents: readonly SearchDocument[],
  options: { revision: string; synonyms?: readonly (readonly string[])[] },
): IndexData {
  const sorted = [...documents].sort((a, b) => compareCodePoints(a.code, b.code))
  const spellings = new Spellings()
  const names: Name[] = []
  sorted.forEach((document, owner) => {
    for (const { text, weight } of document.texts) spellings.read(text, 1, weight)
    for (const { text, field, language } of document.names) {
      const words = spellings.read(text, 5, IN_FIELD[field])
      const terms = words.map((word) => spellings.words[word] ?? '')
      names.push({ text, owner, field, language, words, terms })
    }
    spellings.endOccupation()
  })
  const { data: vocabulary, ids, order } = packVocabulary(spellings.words, spellings.counts)
  const words = order.length
  const counts = spellings.finish()
  counts.column.forEach((word, at) => {
    counts.column[at] = ids[word] as number
  })
  const meaning = analyseMeaning(weighForMeaning(counts, words), words, DIMENSIONS)
  const terms = Array.from(order, (word) => spellings.words[word] ?? '')
  const learnt = learnNames(names, sorted.length, { ...meaning, terms })
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
    spellings: packTexts(Array.from(order, (word) => spellings.commonest(word))),
    wordStem: Uint32Array.from(order, (word) => hashText(stem(spellings.words[word] ?? ''), KIND.stem)),
    ...learnt,
    texts: weighTexts(counts, words),
    ...packNames(names, ids, sorted.length),
    majorStart: majorGroups.start,
    major: majorGroups.groups,
    minorStart: minorGroups.start,
    minor: minorGroups.groups,
  }
}

function weighTexts({ start, column, value }: SparseRows, words: number): SparseRows {
  const lengths = Float64Array.from({ length: start.length - 1 }, (_, row) => {
    return value.subarray(start[row], start[row + 1]).reduce((sum, each) => sum + each, 0)
  })
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length) || 1
  const weights = new Float32Array(value.length)
  lengths.forEach((length, row) => {
    const norm = SATURATION * (0.25 + (0.75 * length) / mean)
    for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
      const count = value[at] as number
      weights[at] = (count * (SATURATION + 1)) / (count + norm)
    }
  })
  return transpose({ start, column, value: weights }, words)
}

function weighForMeaning({ start, column, value }: SparseRows, words: number): SparseRows {
  const holders = new Uint32Array(words)
  for (const word of column) holders[word] = (holders[word] as number) + 1
  const occupations = start.length - 1
  const rows = new RowWriter()
  for (let row = 0; row < occupations; row++) {
    const [from, to] = [start[row] as number, start[row + 1] as number]
    const weigh = (at: number) => {
      const shared = holders[column[at] as number] as number
      return shared > 1 ? Math.log(1 + (value[at] as number)) * Math.log(1 + occupations / shared) : 0
    }
    let sum = 0
    for (let at = from; at < to; at++) sum += weigh(at) ** 2
    const length = Math.sqrt(sum) || 1
    for (let at = from; at < to; at++) {
      const weight = weigh(at)
      if (weight > 0) rows.add(column[at] as number, weight / length)
    }
    rows.endRow()
  }
  return rows.finish()
}

function packNames(names: readonly Name[], ids: Uint32Array, occupations: number) {
  const occupationNames = new Uint32Array(occupations + 1)
  for (const { owner } of names) occupationNames[owner + 1] = (occupationNames[owner + 1] as number) + 1
  for (let at = 0; at < occupations; at++) {
    occupationNames[at + 1] = (occupationNames[at + 1] as number) + (occupationNames[at] as number)
  }
  const nameWordStart = new Uint32Array(names.length + 1)
  names.forEach(({ words }, at) => {
    nameWordStart[at + 1] = (nameWordStart[at] as number) + words.length
  })
  const nameWord = new Uint32Array(nameWordStart[names.length] as number)
  names.forEach(({ words }, at) => {
    words.forEach((word, offset) => {
      nameWord[(nameWordStart[at] as number) + offset] = ids[word] as number
    })
  })
  const keys = Uint32Array.from(names, ({ text }) => hashText(looseKey(fold(text)), 0))
  const order = Uint32Array.from(names.keys()).sort(
    (a, b) => (keys[a] as number) - (keys[b] as number) || a - b,
  )
  return {
    names: packTexts(names.map(({ text }) => text)),
    nameKind: Uint8Array.from(names, ({ language, field }) => packKind(language, field)),
    occupationNames,
    nameWordStart,
    nameWord,
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
