import { ConfirmedNames } from './confirmed-names.ts'
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
const LEAST_REFINED = 1e-4
/** What names that resemble the query add to a logit: the most similar title, all names, the confirmed names. */
const TITLE_SIMILARITY = 3
const NAME_SIMILARITY = 3.5
const CONFIRMED_SIMILARITY = 5
/** How much more the most similar names of an occupation count than its others. */
const SHARPNESS = 6

const TITLE = NAME_FIELDS.indexOf('title')

/** One number for the similarities of names: `soften` of the sum of `sharpen` of each; for one name, its similarity. */
const sharpen = (similarity: number) => Math.expm1(SHARPNESS * similarity)
const soften = (sum: number) => Math.log1p(sum) / SHARPNESS

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
    const { nameKind } = this.#index
    const [titles, sums, found] = [this.#titles, this.#sums, [] as number[]]
    matcher.compareNames(probability, least, (name, occupation, similarity) => {
      if (sums[occupation] === 0) found.push(occupation)
      sums[occupation] = (sums[occupation] as number) + sharpen(similarity)
      if (readField(nameKind[name] as number) === TITLE && similarity > (titles[occupation] as number))
        titles[occupation] = similarity
    })
    const raises = new Map<number, number>()
    for (const occupation of found) {
      const title = TITLE_SIMILARITY * (titles[occupation] as number)
      raises.set(occupation, title + NAME_SIMILARITY * soften(sums[occupation] as number))
      titles[occupation] = 0
      sums[occupation] = 0
    }
    if (this.#confirmed.size > 0) {
      const compare = this.#confirmed.comparing(words.map(({ word }) => word))
      for (const occupation of this.#confirmed.occupations()) {
        if ((probability[occupation] as number) <= least) continue
        let sum = 0
        compare(occupation, (similarity) => {
          sum += sharpen(similarity)
        })
        raises.set(occupation, (raises.get(occupation) ?? 0) + CONFIRMED_SIMILARITY * soften(sum))
      }
    }
    for (const [occupation, raise] of raises)
      probability[occupation] = (probability[occupation] as number) * Math.exp(raise)
    normalise(probability)
  }
}

/**
 * Raises the occupations with the query as a name, by the quality of the match.
 *
 * @param core those with a name that the query only qualifies, as `Senior Nurse` does
 */
export function preferExact(
  probability: Float64Array,
  exact: ReadonlyMap<number, number>,
  core: ReadonlyMap<number, number>,
): Float64Array {
  const bonus = new Map(Array.from(core.keys(), (holder) => [holder, NAME_BONUS]))
  for (const [holder, rank] of exact)
    bonus.set(holder, rank === EXACT.confirmed ? CONFIRMED_BONUS : NAME_BONUS)
  for (const [occupation, logit] of bonus)
    probability[occupation] = Math.max(probability[occupation] as number, LEAST) * Math.exp(logit)
  if (bonus.size > 0) normalise(probability)
  return probability
}

/** Makes the sum of probabilities 1; of unlikely readings, which are not scored, a part is missing. */
function normalise(probability: Float64Array): void {
  let total = 0
  for (let at = 0; at < probability.length; at++) total += probability[at] as number
  if (total === 0) return
  for (let at = 0; at < probability.length; at++) probability[at] = (probability[at] as number) / total
}
