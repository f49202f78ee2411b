import type { Language, NameField } from './document.ts'
import type { Expansion } from './expansion.ts'
import { hashText, KIND } from './features.ts'
import { fold, looseKey, splitWords } from './fold.ts'
import { type IndexData, isConfirmed, readField, readKind, readText } from './index-data.ts'
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
export const EXACT = { title: 4, looseTitle: 3, confirmed: 2.5, name: 2, looseName: 1 }

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
    const byName = isConfirmed(index.nameKind[name] as number) ? EXACT.confirmed : EXACT.name
    const rank = title ? (same ? EXACT.title : EXACT.looseTitle) : same ? byName : EXACT.looseName
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

/** How much a word counts that has the stem of one that the query means. */
const SAME_STEM = 0.6

/** What decides between names that match equally, by the number of their field. */
const PREFERENCE = Float64Array.of(0.054, 0.003, 0.002, 0.001)

/** Finds the most likely name of an occupation for a query, and the words in it to highlight. */
export class Matcher {
  readonly #index: IndexData
  readonly #scorer: Scorer
  /** The words of the catalogue that the query may mean, or that have the stem of one of these. */
  readonly words: readonly number[]
  readonly #prefixes = new Map<number, number>()
  readonly #weight: number
  /** By word: the probability that the query means it, or less if it only means one with the same stem. */
  readonly #shares: Float32Array

  /** @param shares memory for a share of each word, which the next matcher uses again */
  constructor(
    index: IndexData,
    vocabulary: Vocabulary,
    scorer: Scorer,
    expansions: readonly Expansion[],
    typed: string[],
    shares: Float32Array,
  ) {
    this.#shares = shares.fill(0)
    this.#index = index
    this.#scorer = scorer
    const best = expansions[0]?.weight ?? 1
    const means = new Map<number, number>()
    const stems = new Map<string, number>()
    for (const { words, weight } of expansions) {
      for (const { term, change, from } of words) {
        if (change === 'omitted') continue
        const word = STOP_WORDS.has(term) ? -1 : vocabulary.find(term)
        if (word < 0) continue
        const share = Math.sqrt(weight / best) * (change === 'typed' ? 1 : 0.9)
        means.set(word, Math.max(means.get(word) ?? 0, share))
        const root = stem(term)
        stems.set(root, Math.max(stems.get(root) ?? 0, share * SAME_STEM))
        if (change === 'completed') this.#prefixes.set(word, typed[from]?.length ?? 0)
      }
    }
    const alike: number[] = []
    for (const [root, share] of stems) {
      const hash = hashText(root, KIND.stem)
      // A word begins with its stem.
      const end = vocabulary.endOf(root)
      for (let word = vocabulary.startOf(root); word < end; word++) {
        if (index.wordStem[word] !== hash) continue
        shares[word] = share
        alike.push(word)
      }
    }
    // A word has its stem, so those that the query means are among them.
    this.words = alike
    for (const [word, share] of means) shares[word] = share
    const first = expansions[0]?.words.filter(({ term }) => !STOP_WORDS.has(term)) ?? []
    this.#weight = first.reduce((sum, { term }) => sum + scorer.weigh(vocabulary.find(term)), 0)
  }

  /** The similarity of a name to the query, from 0 to 1. */
  compare(name: number): number {
    const { nameWordStart, nameWord } = this.#index
    const [from, to] = [nameWordStart[name] as number, nameWordStart[name + 1] as number]
    let matched = 0
    for (let at = from; at < to; at++) {
      const word = nameWord[at] as number
      const share = this.#shares[word] as number
      if (share > 0) matched += this.#scorer.weigh(word) * share
    }
    if (matched === 0) return 0
    let total = 0
    for (let at = from; at < to; at++) total += this.#scorer.weigh(nameWord[at] as number)
    return matched / Math.max(matched, this.#weight + total - matched)
  }

  /** The name of an occupation that matches best. */
  choose(occupation: number, options: { language?: Language | undefined }): MatchedName | undefined {
    const { occupationNames, nameKind, names } = this.#index
    let [best, most] = [-1, -1]
    for (
      let name = occupationNames[occupation] as number;
      name < (occupationNames[occupation + 1] as number);
      name++
    ) {
      const kind = nameKind[name] as number
      if (options.language !== undefined && readKind(kind).language !== options.language) continue
      const score = this.compare(name) + (PREFERENCE[readField(kind)] as number)
      if (score <= most) continue
      best = name
      most = score
    }
    if (best < 0) return undefined
    const text = readText(names, best)
    return { text, ...readKind(nameKind[best] as number), highlights: this.highlight(best, text) }
  }

  /** The positions of the query's words in a name. */
  highlight(name: number, text: string): [number, number][] {
    const { nameWordStart, nameWord } = this.#index
    const start = nameWordStart[name] as number
    return splitWords(text).flatMap(({ word, from, to }, offset): [number, number][] => {
      const id = nameWord[start + offset] as number
      if (STOP_WORDS.has(singular(word)) || this.#shares[id] === 0) return []
      const typed = this.#prefixes.get(id)
      // If folding changed the length, the typed prefix cannot be located in the text.
      return [
        [from, typed !== undefined && word.length === to - from ? from + Math.min(typed, to - from) : to],
      ]
    })
  }
}
