import { ConfirmedNames, listGrams } from './confirmed-names.ts'
import { NAME_FIELDS } from './document.ts'
import type { Word } from './fold.ts'
import { type IndexData, readField } from './index-data.ts'
import { EXACT, type Matcher } from './match.ts'
import { findBest } from './score.ts'

/** The bonus to the logit of an occupation with the query as a name. */
const NAME_BONUS = 1
/** A person has decided; the model only arbitrates between occupations with the same confirmed name. */
const CONFIRMED_BONUS = 9
/** The probability of an occupation with a name, before its bonus, is at least this. */
const LEAST = 1e-4
/** Occupations whose share of the probability of the best one is smaller are not compared with the query. */
const LEAST_REFINED = 1e-5
/** What names that resemble the query add to a logit: the most similar title, all names, the closest confirmed name. */
const TITLE_SIMILARITY = 3
const NAME_SIMILARITY = 4
const CONFIRMED_SIMILARITY = 5
/** How much more the most similar names of an occupation count than its others. */
const SHARPNESS = 10
/** Names that are less similar say little, and are most of those that share a word with the query. */
const LEAST_SIMILAR = 0.25

const TITLE = NAME_FIELDS.indexOf('title')

/** Raises the probability of occupations whose names resemble the query. */
export class Bonuses {
  readonly #index: IndexData
  readonly #confirmed: ConfirmedNames
  /** By occupation: the similarity of its most similar title, and a sum over its names; 0 between two queries. */
  readonly #titles: Float64Array
  readonly #sums: Float64Array

  constructor(index: IndexData) {
    this.#index = index
    this.#confirmed = new ConfirmedNames(index)
    this.#titles = new Float64Array(index.header.occupations)
    this.#sums = new Float64Array(index.header.occupations)
  }

  /** Raises the occupations with names that resemble the query, most of all titles and names that people confirmed. */
  preferSimilar(words: readonly Word[], matcher: Matcher, probability: Float64Array): void {
    const least = LEAST_REFINED * findBest(probability)
    const isRefined = (occupation: number) => (probability[occupation] as number) > least
    const { nameKind } = this.#index
    const [titles, sums, found] = [this.#titles, this.#sums, [] as number[]]
    matcher.compareNames(isRefined, (name, occupation, similarity) => {
      if (similarity < LEAST_SIMILAR) return
      if (sums[occupation] === 0) found.push(occupation)
      sums[occupation] = (sums[occupation] as number) + Math.expm1(SHARPNESS * similarity)
      if (readField(nameKind[name] as number) === TITLE && similarity > (titles[occupation] as number))
        titles[occupation] = similarity
    })
    const raises = new Map<number, number>()
    for (const occupation of found) {
      const title = TITLE_SIMILARITY * (titles[occupation] as number)
      raises.set(occupation, title + (NAME_SIMILARITY * Math.log1p(sums[occupation] as number)) / SHARPNESS)
      titles[occupation] = 0
      sums[occupation] = 0
    }
    if (this.#confirmed.size > 0) {
      const grams = listGrams(words.map(({ word }) => word))
      for (const occupation of this.#confirmed.occupations()) {
        if (!isRefined(occupation)) continue
        const raise = CONFIRMED_SIMILARITY * this.#confirmed.findSimilarity(occupation, grams)
        raises.set(occupation, (raises.get(occupation) ?? 0) + raise)
      }
    }
    for (const [occupation, raise] of raises)
      probability[occupation] = (probability[occupation] as number) * Math.exp(raise)
    normalise(probability)
  }
}

/** Raises the occupations with the query as a name, by the quality of the match. */
export function preferExact(probability: Float64Array, exact: ReadonlyMap<number, number>): Float64Array {
  const bonus = (rank: number) => (rank === EXACT.confirmed ? CONFIRMED_BONUS : NAME_BONUS)
  addBonus(probability, new Map([...exact].map(([holder, rank]) => [holder, bonus(rank)])))
  return probability
}

/** Adds bonuses to the logits of probabilities, which become at least `LEAST` before. */
function addBonus(probability: Float64Array, bonus: ReadonlyMap<number, number>): void {
  if (bonus.size === 0) return
  for (const [occupation, logit] of bonus)
    probability[occupation] = Math.max(probability[occupation] as number, LEAST) * Math.exp(logit)
  normalise(probability)
}

/** Makes the sum of probabilities 1; of unlikely readings, which are not scored, a part is missing. */
function normalise(probability: Float64Array): void {
  let total = 0
  for (let at = 0; at < probability.length; at++) total += probability[at] as number
  if (total === 0) return
  for (let at = 0; at < probability.length; at++) probability[at] = (probability[at] as number) / total
}
