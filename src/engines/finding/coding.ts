import { calibrate } from './calibration.ts'
import type { GroupName } from './index-data.ts'
import type { OccupationSearch } from './search.ts'

export interface CodingItem {
  readonly id?: string | undefined
  readonly title: string
  readonly tasks?: string | undefined
}

interface CodingCandidate {
  readonly occupationCode: string
  readonly titleEnglish?: string
  readonly certainty: number
}

export interface Coding {
  readonly id?: string
  /** Absent if it is more likely to be wrong than right. */
  readonly code?: string
  readonly certainty: number
  readonly candidates: readonly CodingCandidate[]
  /** The most probable minor or major group, if no code is certain enough. */
  readonly group?: GroupName & { readonly certainty: number }
}

const CANDIDATES = 3
/** The minimum certainty of a code, and of a minor group instead of its major group. */
const CERTAIN = 0.5

/** Finds the occupation of a job title. The certainty is the probability that the code is right. */
export function codeTitle(search: OccupationSearch, { id, title, tasks }: CodingItem): Coding {
  const { probability, known, familiar } = search.estimate(title, tasks)
  // Words that nothing in the catalogue has mean nothing to it.
  if (!known) return { ...(id !== undefined && { id }), certainty: 0, candidates: [] }
  const best = findBest(probability, CANDIDATES)
  const judge = (occupation: number) => round(calibrate(probability[occupation] ?? 0) * familiar(occupation))
  const certainty = judge(best[0] ?? -1)
  const candidates = best.map((occupation) => {
    const titleEnglish = search.title(occupation, 'en')
    return {
      occupationCode: search.code(occupation),
      ...(titleEnglish !== undefined && { titleEnglish }),
      certainty: judge(occupation),
    }
  })
  const code = certainty >= CERTAIN ? candidates[0]?.occupationCode : undefined
  const group = code === undefined ? findGroup(search, probability) : undefined
  return {
    ...(id !== undefined && { id }),
    ...(code !== undefined && { code }),
    certainty,
    candidates,
    ...(group !== undefined && { group }),
  }
}

function findBest(probability: Float64Array, count: number): number[] {
  const best: number[] = []
  for (let occupation = 0; occupation < probability.length; occupation++) {
    const value = probability[occupation] as number
    if (value <= 0) continue
    let place = best.length
    while (place > 0 && (probability[best[place - 1] as number] as number) < value) place--
    if (place < count) best.splice(place, 0, occupation)
    if (best.length > count) best.pop()
  }
  return best
}

function findGroup(search: OccupationSearch, probability: Float64Array) {
  const { minorStart, minor, majorStart, major, header } = search.index
  const minors = sumGroups(probability, minorStart, minor, header.minorGroups)
  if (minors !== undefined && minors.certainty >= CERTAIN) return minors
  return sumGroups(probability, majorStart, major, header.majorGroups)
}

/** The most probable group, by the occupations that have it as their Primary group. */
function sumGroups(
  probability: Float64Array,
  start: Uint32Array,
  groups: Uint32Array,
  names: readonly GroupName[],
) {
  const sums = new Float64Array(names.length)
  for (let occupation = 0; occupation < probability.length; occupation++) {
    if (start[occupation] === start[occupation + 1]) continue
    const group = (groups[start[occupation] as number] as number) >> 1
    sums[group] = (sums[group] as number) + (probability[occupation] as number)
  }
  const [best] = findBest(sums, 1)
  const name = best === undefined ? undefined : names[best]
  if (best === undefined || name === undefined) return undefined
  return { ...name, certainty: round(calibrate(sums[best] as number)) }
}

function round(certainty: number): number {
  return Math.round(certainty * 1000) / 1000
}
