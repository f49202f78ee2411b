import { splitWords } from './fold.ts'
import { STOP_WORDS, singular, stem } from './stem.ts'

/** Features by their 32-bit hashes, with weights. Occasional collisions cost less than storing the strings. */
export type Features = Map<number, number>

/** The weight of each kind of feature; tuned on held-out names, as `bench/search` measures. */
const WEIGHT = { word: 1, stem: 1, pair: 0.5, stems: 0.5, place: 1, gram: 0.3 }

/** The kinds of features, which are part of the hash. */
export const KIND = { word: 1, stem: 2, pair: 3, stems: 4, head: 5, first: 6, gram: 7 }
const GRAMS = [3, 4]

/** Whether a hash is that of a character n-gram, which its lowest bit shows. */
export function isGram(hash: number): boolean {
  return (hash & 1) === 1
}

/** FNV-1a over the UTF-16 code units of a text, preceded by the kind of feature. */
export function hashText(text: string, kind: number, from = 0, to = text.length): number {
  let hash = Math.imul(0x811c9dc5 ^ kind, 0x01000193)
  for (let index = from; index < to; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  hash ^= hash >>> 13
  return (kind === KIND.gram ? hash | 1 : hash & ~1) >>> 0
}

/** The slot of a feature in a hash table with open addressing, or the free one where it would be. */
export function findSlot(hashes: Uint32Array, ids: Uint32Array, hash: number): number {
  const mask = ids.length - 1
  let slot = (hash >>> 1) & mask
  while (ids[slot] !== 0 && hashes[slot] !== hash) slot = (slot + 1) & mask
  return slot
}

/** The number of a feature in such a table, or -1. */
export function findFeature(hashes: Uint32Array, ids: Uint32Array, hash: number): number {
  return (ids[findSlot(hashes, ids, hash)] as number) - 1
}

/**
 * The features of a name: its words, their stems, neighbouring words, pairs of stems in any order, the head and the
 * first word, and character 3- and 4-grams, which tolerate typing errors.
 *
 * @param terms the words of the name, folded and singular
 */
export function featuresOf(text: string, terms: readonly string[]): Features {
  const content = terms.filter((term) => !STOP_WORDS.has(term))
  const place = content.slice(0, countHeadPart(text) || content.length)
  const features: Features = new Map()
  const add = (kind: number, text: string, weight: number) => {
    const hash = hashText(text, kind)
    features.set(hash, (features.get(hash) ?? 0) + weight)
  }
  for (const term of content) {
    add(KIND.word, term, WEIGHT.word)
    add(KIND.stem, stem(term), WEIGHT.stem)
  }
  for (let index = 0; index + 1 < terms.length; index++) {
    add(KIND.pair, `${terms[index]}${terms[index + 1]}`, WEIGHT.pair)
  }
  const stems = [...new Set(content.map(stem))].sort()
  for (let one = 0; one < stems.length; one++) {
    for (let two = one + 1; two < stems.length; two++) {
      add(KIND.stems, `${stems[one]} ${stems[two]}`, WEIGHT.stems)
    }
  }
  const [first, head] = [place[0], place.at(-1)]
  if (head !== undefined) add(KIND.head, head, WEIGHT.place)
  if (first !== undefined) add(KIND.first, first, WEIGHT.place)
  const line = ` ${content.join(' ')} `
  for (const size of GRAMS) {
    for (let index = 0; index + size <= line.length; index++) {
      const hash = hashText(line, KIND.gram, index, index + size)
      features.set(hash, (features.get(hash) ?? 0) + WEIGHT.gram)
    }
  }
  return features
}

/**
 * The words that say something in the part of a name with the head noun: before a comma, a dash, a bracket or ` of `.
 * `Teachers, Special Education` and `Director of Nursing` are about teachers and a director. 0 if it is the whole name.
 */
function countHeadPart(name: string): number {
  const part = name.split(/\(|,| - |--/, 1)[0]?.split(/ of /i, 1)[0] ?? name
  if (part.length === name.length) return 0
  return splitWords(part).filter(({ word }) => !STOP_WORDS.has(singular(word))).length
}
