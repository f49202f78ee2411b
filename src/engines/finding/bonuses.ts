import { ConfirmedNames, listGrams } from './confirmed-names.ts'
import type { Word } from './fold.ts'
import { type IndexData, readField } from './index-data.ts'
import { EXACT, findInside, type Matcher } from './match.ts'
import { findBest, type Scorer } from './score.ts'
import { singular } from './stem.ts'

/** The bonus to the logit of an occupation with the query as a name, and with a part of it. */
const NAME_BONUS = 1
/** A person has decided; the model only arbitrates between occupations with the same confirmed name. */
const CONFIRMED_BONUS = 9
const INSIDE = 1.5
/** The probability of an occupation with a name, before its bonus, is at least this. */
const LEAST = 1e-4
/** Occupations whose share of the probability of the best one is smaller are not compared with the query. */
const LEAST_REFINED = 1e-5
/** What a title, or a confirmed name, that equals the query adds to a logit; similar ones add less. */
const TITLE_SIMILARITY = 2.2
const CONFIRMED_SIMILARITY = 3.2

/** Raises the probability of occupations whose names resemble the query. */
export class Bonuses {
  readonly #index: IndexData
  readonly #scorer: Scorer
  readonly #confirmed: ConfirmedNames

  constructor(index: IndexData, scorer: Scorer) {
    this.#index = index
    this.#scorer = scorer
    this.#confirmed = new ConfirmedNames(index)
  }

  /** Raises the occupations with a name that is a part of the query, by how much of the query it covers. */
  preferNames(words: readonly Word[], probability: Float64Array): void {
    if (words.length < 2) return
    const inside = findInside(
      this.#index,
      words.map(({ word }) => word),
      this.#scorer.weighTerms(words.map(({ word }) => singular(word))),
    )
    addBonus(probability, new Map([...inside].map(([holder, covered]) => [holder, INSIDE * covered])))
  }

  /** Raises the occupations whose title, or a name that a person has confirmed, resembles the query. */
  preferSimilar(words: readonly Word[], matcher: Matcher, probability: Float64Array): void {
    const { occupationNames, nameKind } = this.#index
    const least = LEAST_REFINED * findBest(probability)
    const grams = this.#confirmed.size === 0 ? undefined : listGrams(words.map(({ word }) => word))
    for (let occupation = 0; occupation < probability.length; occupation++) {
      if ((probability[occupation] as number) <= least) continue
      let title = 0
      for (
        let name = occupationNames[occupation] as number;
        name < (occupationNames[occupation + 1] as number) && readField(nameKind[name] as number) === 0;
        name++
      )
        title = Math.max(title, matcher.compare(name))
      const confirmed = grams && this.#confirmed.findSimilarity(occupation, grams)
      const raise = TITLE_SIMILARITY * title + CONFIRMED_SIMILARITY * (confirmed ?? 0)
      if (raise > 0) probability[occupation] = (probability[occupation] as number) * Math.exp(raise)
    }
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
  for (const value of probability) total += value
  if (total === 0) return
  for (let at = 0; at < probability.length; at++) probability[at] = (probability[at] as number) / total
}
