import { ConfirmedNames, listGrams } from './confirmed-names.ts'
import type { Word } from './fold.ts'
import { type IndexData, titlesOf } from './index-data.ts'
import { EXACT, findInside, type Matcher } from './match.ts'
import { findBest, type Scorer } from './score.ts'
import { RowWriter, type SparseRows, transpose } from './sparse.ts'
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
  /** By word: the occupations with a title that has it. */
  readonly #titled: SparseRows

  constructor(index: IndexData, scorer: Scorer) {
    this.#index = index
    this.#scorer = scorer
    this.#confirmed = new ConfirmedNames(index)
    this.#titled = listTitled(index)
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
    const least = LEAST_REFINED * findBest(probability)
    const raises = new Map<number, number>()
    const { start, column } = this.#titled
    for (const word of matcher.words) {
      for (let at = start[word] as number; at < (start[word + 1] as number); at++) {
        const occupation = column[at] as number
        if ((probability[occupation] as number) <= least || raises.has(occupation)) continue
        raises.set(occupation, TITLE_SIMILARITY * this.#compareTitles(occupation, matcher))
      }
    }
    if (this.#confirmed.size > 0) {
      const grams = listGrams(words.map(({ word }) => word))
      for (const occupation of this.#confirmed.occupations()) {
        if ((probability[occupation] as number) <= least) continue
        const raise = CONFIRMED_SIMILARITY * this.#confirmed.findSimilarity(occupation, grams)
        raises.set(occupation, (raises.get(occupation) ?? 0) + raise)
      }
    }
    for (const [occupation, raise] of raises)
      probability[occupation] = (probability[occupation] as number) * Math.exp(raise)
    normalise(probability)
  }

  /** The similarity of the query to the title that resembles it most. */
  #compareTitles(occupation: number, matcher: Matcher): number {
    let most = 0
    for (const name of titlesOf(this.#index, occupation)) most = Math.max(most, matcher.compare(name))
    return most
  }
}

function listTitled(index: IndexData): SparseRows {
  const { nameWordStart, nameWord } = index
  const rows = new RowWriter()
  for (let occupation = 0; occupation < index.header.occupations; occupation++) {
    for (const name of titlesOf(index, occupation)) {
      const end = nameWordStart[name + 1] as number
      for (let at = nameWordStart[name] as number; at < end; at++) rows.add(nameWord[at] as number, 1)
    }
    rows.endRow()
  }
  return transpose(rows.finish(), index.vocabulary.wordCount.length)
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
