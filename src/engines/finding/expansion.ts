import { hashText, KIND } from './features.ts'
import { undouble, type Word } from './fold.ts'
import type { IndexHeader } from './index-data.ts'
import type { Scorer } from './score.ts'
import { findModifier, STOP_WORDS, singular } from './stem.ts'
import { Synonyms } from './synonyms.ts'
import type { Vocabulary } from './vocabulary.ts'

type Change =
  | 'typed'
  | 'respelt'
  | 'corrected'
  | 'completed'
  | 'joined'
  | 'split'
  | 'synonym'
  | 'doer'
  | 'omitted'

/** A word of an expansion: the words of the query that it replaces, and how. */
export interface ExpandedWord {
  readonly term: string
  readonly change: Change
  /** The range of the query's words, end exclusive. */
  readonly from: number
  readonly to: number
}

/** A way to read a query, with words corrected, completed or replaced. The weights of all expansions add up to 1. */
export interface Expansion {
  readonly words: readonly ExpandedWord[]
  readonly weight: number
}

interface Alternative {
  readonly words: readonly ExpandedWord[]
  readonly weight: number
  readonly to: number
}

/** Prior probabilities; tuned on held-out names, complete, mistyped and incomplete. */
const LIKELIHOOD = {
  /** An unknown word is new rather than mistyped. */
  unknown: 0.15,
  /** Each further typing error. */
  slip: 0.05,
  /** A known last word is complete, rather than the beginning of another. */
  whole: 0.85,
  /** An unknown last word is complete, rather than the beginning of a known one. */
  unknownWhole: 0.1,
  /** A word follows the previous one in a name. */
  neighbours: 4,
  /** Frequent words are more likely: the exponent of their count. */
  frequency: 0.5,
  joined: 0.5,
  /** A synonym, relative to a phrase of weight 1. */
  synonym: 0.7,
  /** Who does what the query says, relative to the query. */
  doer: 0.9,
  /** A word such as `Senior` says nothing about the occupation. */
  omitted: 0.8,
  /** A word of four letters is mistyped rather than new, relative to a longer one. */
  short: 0.8,
  /** A slip in the first letter, relative to others. */
  first: 0.2,
  /** Two slips in a word of eight letters or fewer, relative to a longer one. */
  dense: 0.3,
}

const READINGS = 8
/** Less likely expansions are not scored. */
const LEAST = 0.02
const CORRECTIONS = 4
/** Corrections that are less plausible are none. */
const LEAST_PLAUSIBLE = 0.5
/** Shorter words are neither corrected nor corrections. */
const MIN_CORRECTED = 4
const COMPLETIONS = 8

const PERSON = /(?:er|or|ist|ian|ant|man)$/

/** Finds the possible meanings of a query with misspelt, incomplete, joined or split words, most likely first. */
export class Expander {
  readonly #vocabulary: Vocabulary
  readonly #scorer: Scorer
  readonly #synonyms: Synonyms

  constructor(vocabulary: Vocabulary, scorer: Scorer, synonyms: IndexHeader['synonyms']) {
    this.#vocabulary = vocabulary
    this.#synonyms = new Synonyms(synonyms)
    this.#scorer = scorer
  }

  /** @param open whether the last word may be incomplete */
  expand(words: readonly Word[], open: boolean): Expansion[] {
    const terms = words.map(({ word }) => singular(word))
    const partial = new Map<number, { words: ExpandedWord[]; weight: number }[]>([
      [0, [{ words: [], weight: 1 }]],
    ])
    for (let at = 0; at < terms.length; at++) {
      const soFar = (partial.get(at) ?? []).sort((a, b) => b.weight - a.weight).slice(0, READINGS)
      partial.delete(at)
      const alternatives = this.#list(terms, words, at, open)
      for (const expansion of soFar) {
        for (const { words: added, weight, to } of this.#inContext(alternatives, expansion.words.at(-1))) {
          const longer = partial.get(to) ?? []
          longer.push({ words: [...expansion.words, ...added], weight: expansion.weight * weight })
          partial.set(to, longer)
        }
      }
    }
    const whole = (partial.get(terms.length) ?? [])
      .flatMap((expansion) => [expansion, ...this.#nameDoer(expansion, words)])
      .sort((a, b) => b.weight - a.weight)
      .slice(0, READINGS)
    const total = whole.reduce((sum, { weight }) => sum + weight, 0) || 1
    return whole
      .map(({ words, weight }) => ({ words, weight: weight / total }))
      .filter(({ weight }) => weight > LEAST)
  }

  /**
   * Reads what somebody does as the name of who does it, as English forms such names: `driving buses` as `bus driver`.
   * A title that begins with such a word, as `marketing manager` does, is none of these.
   */
  #nameDoer({ words, weight }: Expansion, typed: readonly Word[]): Expansion[] {
    const [verb, ...others] = words
    if (verb === undefined || !verb.term.endsWith('ing')) return []
    const root = verb.term.slice(0, -3)
    const doer = [`${root}er`, `${root}or`].find((word) => this.#vocabulary.has(word))
    if (doer === undefined) return []
    const end = others.findIndex(({ term }) => STOP_WORDS.has(term))
    const object = end < 0 ? others : others.slice(0, end)
    const last = object.at(-1)
    if (last !== undefined && typed[last.to - 1]?.word === last.term && this.#isPerson(last.term)) return []
    const read: ExpandedWord = { ...verb, term: doer, change: 'doer' }
    return [{ words: [...object, read, ...others.slice(object.length)], weight: weight * LIKELIHOOD.doer }]
  }

  /** Whether a word is the head of names, or looks like one who does something. */
  #isPerson(term: string): boolean {
    return PERSON.test(term) || this.#scorer.findFeature(hashText(term, KIND.head)) >= 0
  }

  /** Prefers words that are neighbours in a name of the catalogue, then normalises the weights to 1. */
  #inContext(alternatives: readonly Alternative[], before: ExpandedWord | undefined): Alternative[] {
    const weighed = alternatives.map((alternative) => {
      const [next] = alternative.words
      const known =
        before !== undefined && next !== undefined && this.#scorer.areNeighbours(before.term, next.term)
      return known ? { ...alternative, weight: alternative.weight * LIKELIHOOD.neighbours } : alternative
    })
    const total = weighed.reduce((sum, { weight }) => sum + weight, 0) || 1
    return weighed.map((alternative) => ({ ...alternative, weight: alternative.weight / total }))
  }

  #list(terms: readonly string[], words: readonly Word[], at: number, open: boolean): Alternative[] {
    const term = terms[at] ?? ''
    const last = open && at === terms.length - 1
    const one = (word: string, change: Change, weight: number, to = at + 1): Alternative => {
      return { words: [{ term: word, change, from: at, to }], weight, to }
    }
    const omitted = this.#omit(terms, at)
    const synonyms = this.#replace(terms, at)
    const joined = [
      ...this.#join(terms, at).map((word) => one(word, 'joined', LIKELIHOOD.joined, at + 2)),
      ...synonyms,
    ]
    const known = this.#vocabulary.has(term)
    if (omitted.length > 0) return [one(term, 'typed', 1 - LIKELIHOOD.omitted), ...omitted]
    if (known && !last) return [one(term, 'typed', 1), ...joined]
    const prefix = words[at]?.word ?? term
    // One letter is the beginning of too many words to be one if the catalogue has it as a word.
    const completions = last && (!known || prefix.length > 1) ? this.#complete(prefix) : []
    if (known) {
      const share = completions.length > 0 ? LIKELIHOOD.whole : 1
      return [
        one(term, 'typed', share),
        ...joined,
        ...completions.map(({ word, share: part }) => one(word, 'completed', (1 - share) * part)),
      ]
    }
    // A word with a synonym is neither new nor mistyped.
    if (synonyms.length > 0) return [one(term, 'typed', LIKELIHOOD.unknown), ...joined]
    const { corrections, plausible } = this.#correct(term)
    const split = this.#split(term, at)
    const others = [
      ...corrections.map(({ word, share }) =>
        one(word, undouble(word) === undouble(term) ? 'respelt' : 'corrected', share),
      ),
      ...split,
    ]
    const whole = completions.length > 0 ? LIKELIHOOD.unknownWhole : 1
    const mistyped = (1 - LIKELIHOOD.unknown) * (split.length > 0 ? 1 : plausible)
    return [
      one(term, 'typed', whole * (1 - mistyped)),
      ...joined,
      ...others.map((other) => ({ ...other, weight: other.weight * whole * mistyped })),
      ...completions.map(({ word, share }) => one(word, 'completed', (1 - whole) * share)),
    ]
  }

  /** Joins a word and the next to one in the catalogue: `kai ako` to `kaiako`. */
  #join(terms: readonly string[], at: number): string[] {
    const [one, other] = [terms[at], terms[at + 1]]
    if (one === undefined || other === undefined) return []
    const word = one + other
    return word.length > 4 && this.#vocabulary.has(word) ? [word] : []
  }

  /** Leaves out words that only qualify an occupation, if others remain. */
  #omit(terms: readonly string[], at: number): Alternative[] {
    const length = findModifier(terms, at)
    if (length === 0) return []
    const words = terms
      .slice(at, at + length)
      .map(
        (term, offset): ExpandedWord => ({ term, change: 'omitted', from: at + offset, to: at + offset + 1 }),
      )
    return [{ words, weight: LIKELIHOOD.omitted, to: at + length }]
  }

  #replace(terms: readonly string[], at: number): Alternative[] {
    return this.#synonyms.find(terms, at).map(({ words, to }) => ({
      words: words.map((term): ExpandedWord => ({ term, change: 'synonym', from: at, to })),
      weight: LIKELIHOOD.synonym,
      to,
    }))
  }

  #split(term: string, at: number): Alternative[] {
    if (term.length < 7) return []
    let best: { parts: string[]; count: number } | undefined
    for (let cut = 3; cut <= term.length - 3; cut++) {
      const parts = [singular(term.slice(0, cut)), singular(term.slice(cut))]
      if (parts.some((part) => STOP_WORDS.has(part))) continue
      const count = Math.min(...parts.map((part) => this.#vocabulary.countOf(part)))
      if (count > (best?.count ?? 4)) best = { parts, count }
    }
    if (best === undefined) return []
    const words = best.parts.map(
      (part): ExpandedWord => ({ term: part, change: 'split', from: at, to: at + 1 }),
    )
    return [{ words, weight: 0.5, to: at + 1 }]
  }

  /** The words that an unknown one may stand for, and how plausible the best of them is, from 0 to 1. */
  #correct(term: string): { corrections: { word: string; share: number }[]; plausible: number } {
    const vocabulary = this.#vocabulary
    const { slip, short, first, dense } = LIKELIHOOD
    const doubled = vocabulary.findUndoubled(term)
    if (doubled.length > 0)
      return { corrections: this.#share(doubled.map((id) => ({ id, weight: 1 }))), plausible: 1 }
    if (term.length < MIN_CORRECTED) return { corrections: [], plausible: 0 }
    let plausible = 0
    const similar = vocabulary.findSimilar(term, term.length < 7 ? 1 : 2).flatMap(({ id, slips }) => {
      const word = vocabulary.word(id)
      if (word.length < MIN_CORRECTED) return []
      const length = (term.length === MIN_CORRECTED ? short : 1) * (slips > 1 && term.length < 9 ? dense : 1)
      const begin = word[0] === term[0] ? 1 : first
      plausible = Math.max(plausible, length * begin)
      return [{ id, weight: slip ** (slips - 1) * begin }]
    })
    // A word that looks right is new: what it resembles would be another occupation.
    if (plausible < LEAST_PLAUSIBLE) return { corrections: [], plausible: 0 }
    return { corrections: this.#share(similar).slice(0, CORRECTIONS), plausible }
  }

  #complete(prefix: string): { word: string; share: number }[] {
    const ids = this.#vocabulary.complete(prefix, COMPLETIONS)
    return this.#share(ids.map((id) => ({ id, weight: 1 })))
  }

  #share(words: readonly { id: number; weight: number }[]): { word: string; share: number }[] {
    const weighed = words.map(({ id, weight }) => ({
      word: this.#vocabulary.word(id),
      share: weight * (1 + this.#vocabulary.count(id)) ** LIKELIHOOD.frequency,
    }))
    const total = weighed.reduce((sum, { share }) => sum + share, 0) || 1
    return weighed
      .map(({ word, share }) => ({ word, share: share / total }))
      .sort((a, b) => b.share - a.share || (a.word < b.word ? -1 : 1))
  }
}
