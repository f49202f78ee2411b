import { type Language, NAME_FIELDS, type NameField } from './document.ts'
import type { Expansion } from './expansion.ts'
import { hashText, KIND } from './features.ts'
import { fold, looseKey, splitWords } from './fold.ts'
import { type IndexData, readKind, readText } from './index-data.ts'
import type { Scorer } from './score.ts'
import { STOP_WORDS, singular, stem } from './stem.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface MatchedName {
  readonly text: string
  readonly language: Language
  readonly field: NameField
  /** The positions of the query's words in the name, in UTF-16 code units, end exclusive. */
  readonly highlights: [number, number][]
}

/** The quality of an exact match: titles before other names, the same letters before the same loose key. */
export const EXACT = { title: 4, looseTitle: 3, name: 2, looseName: 1 }

/** The share of a query's weight that a name inside must cover; one that covers less is one among others. */
const MOST = 0.75

/** The most words of a name that is looked for inside a query. */
const MAX_SPAN = 6

/**
 * The occupations with a name that is a part of the query, and the greatest share of the query's weight that such a
 * name covers.
 *
 * @param weights of the words; those without weight may be missing from the name
 */
export function findInside(
  index: IndexData,
  words: readonly string[],
  weights: readonly number[],
): Map<number, number> {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const inside = new Map<number, number>()
  if (total === 0) return inside
  for (let from = 0; from < words.length; from++) {
    let covered = 0
    for (let to = from; to < Math.min(words.length, from + MAX_SPAN); to++) {
      covered += weights[to] as number
      const whole = from === 0 && to === words.length - 1
      if (whole || covered < total * MOST) continue
      for (const holder of findExact(index, words.slice(from, to + 1).join(' '), undefined).keys())
        inside.set(holder, Math.max(inside.get(holder) ?? 0, covered / total))
    }
  }
  return inside
}

/** The occupations with the query as a name, and the quality of the match. */
export function findExact(
  index: IndexData,
  query: string,
  language: Language | undefined,
): Map<number, number> {
  const exact = new Map<number, number>()
  const folded = fold(query)
  if (folded === '') return exact
  const key = looseKey(folded)
  const hash = hashText(key, 0)
  const { keyHash, keyName } = index
  let [low, high] = [0, keyHash.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((keyHash[middle] as number) < hash) low = middle + 1
    else high = middle
  }
  for (let at = low; at < keyHash.length && keyHash[at] === hash; at++) {
    const name = keyName[at] as number
    const kind = readKind(index.nameKind[name] as number)
    if (language !== undefined && kind.language !== language) continue
    const other = fold(readText(index.names, name))
    if (looseKey(other) !== key) continue
    const same = other === folded
    const title = kind.field === 'title'
    const rank = title ? (same ? EXACT.title : EXACT.looseTitle) : same ? EXACT.name : EXACT.looseName
    const owner = findOwner(index, name)
    exact.set(owner, Math.max(exact.get(owner) ?? 0, rank))
  }
  return exact
}

function findOwner({ occupationNames }: IndexData, name: number): number {
  let [low, high] = [0, occupationNames.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((occupationNames[middle + 1] as number) <= name) low = middle + 1
    else high = middle
  }
  return low
}

/** Finds the most likely name of an occupation for a query, and the words in it to highlight. */
export class Matcher {
  readonly #index: IndexData
  readonly #scorer: Scorer
  /** The probability of each word that the query means it. */
  readonly #words = new Map<number, number>()
  readonly #stems = new Map<number, number>()
  readonly #prefixes = new Map<number, number>()
  readonly #weight: number

  constructor(
    index: IndexData,
    vocabulary: Vocabulary,
    scorer: Scorer,
    expansions: readonly Expansion[],
    typed: string[],
  ) {
    this.#index = index
    this.#scorer = scorer
    const best = expansions[0]?.weight ?? 1
    for (const { words, weight } of expansions) {
      for (const { term, change, from } of words) {
        if (change === 'omitted') continue
        const word = STOP_WORDS.has(term) ? -1 : vocabulary.find(term)
        if (word < 0) continue
        const share = Math.sqrt(weight / best) * (change === 'typed' ? 1 : 0.9)
        this.#words.set(word, Math.max(this.#words.get(word) ?? 0, share))
        const root = hashText(stem(term), KIND.stem)
        this.#stems.set(root, Math.max(this.#stems.get(root) ?? 0, share * 0.6))
        if (change === 'completed') this.#prefixes.set(word, typed[from]?.length ?? 0)
      }
    }
    const first = expansions[0]?.words.filter(({ term }) => !STOP_WORDS.has(term)) ?? []
    this.#weight = first.reduce((sum, { term }) => sum + scorer.weigh(vocabulary.find(term)), 0)
  }

  /** The similarity of a name to the query, from 0 to 1. */
  compare(name: number): number {
    const { nameWordStart, nameWord } = this.#index
    let [matched, total] = [0, 0]
    for (let at = nameWordStart[name] as number; at < (nameWordStart[name + 1] as number); at++) {
      const word = nameWord[at] as number
      const weight = this.#scorer.weigh(word)
      total += weight
      matched += weight * this.#share(word)
    }
    return matched === 0 ? 0 : matched / Math.max(matched, this.#weight + total - matched)
  }

  #share(word: number): number {
    const stemHash = this.#index.wordStem[word] as number
    return this.#words.get(word) ?? this.#stems.get(stemHash) ?? 0
  }

  /** @param shown whether the name is displayed, which search-only names never are */
  choose(
    occupation: number,
    options: { language?: Language | undefined; exact?: number },
  ): MatchedName | undefined {
    const { occupationNames, nameKind, names } = this.#index
    let best: { name: number; score: number } | undefined
    for (
      let name = occupationNames[occupation] as number;
      name < (occupationNames[occupation + 1] as number);
      name++
    ) {
      const { language, field } = readKind(nameKind[name] as number)
      if (options.language !== undefined && language !== options.language) continue
      const preference = (NAME_FIELDS.length - NAME_FIELDS.indexOf(field)) * 1e-3
      const score = this.compare(name) + (field === 'title' ? 0.05 : 0) + preference
      if (best === undefined || score > best.score) best = { name, score }
    }
    if (best === undefined) return undefined
    const text = readText(names, best.name)
    return { text, ...readKind(nameKind[best.name] as number), highlights: this.highlight(best.name, text) }
  }

  /** The positions of the query's words in a name. */
  highlight(name: number, text: string): [number, number][] {
    const { nameWordStart, nameWord } = this.#index
    const start = nameWordStart[name] as number
    return splitWords(text).flatMap(({ word, from, to }, offset): [number, number][] => {
      const id = nameWord[start + offset] as number
      if (STOP_WORDS.has(singular(word)) || this.#share(id) === 0) return []
      const typed = this.#prefixes.get(id)
      // If folding changed the length, the typed prefix cannot be located in the text.
      return [
        [from, typed !== undefined && word.length === to - from ? from + Math.min(typed, to - from) : to],
      ]
    })
  }
}
