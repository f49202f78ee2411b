import { calibrate } from './calibration.ts'
import type { GroupName } from './index-data.ts'
import { isNoJob } from './no-job.ts'
import { takeBest } from './score.ts'
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
/** So many of the most probable occupations are compared by certainty, which is less where the title has new words. */
const SHORTLIST = 20
/** The minimum certainty of a code, and of a minor group instead of its major group. */
const CERTAIN = 0.5

/** Finds the occupation of a job title. The certainty is the probability that the code is right. */
export function codeTitle(search: OccupationSearch, { id, title, tasks }: CodingItem): Coding {
  const { probability, certainty: judge, order, known, isName } = search.estimate(title, tasks)
  const own = id === undefined ? {} : { id }
  // Words that nothing in the catalogue has mean nothing to it.
  if (!known || (isNoJob(title) && !isName)) return { ...own, certainty: 0, candidates: [] }
  const best = findBest(probability, SHORTLIST).sort((a, b) => order(b) - order(a))
  const candidates = best.slice(0, CANDIDATES).map((occupation) => {
    const titleEnglish = search.title(occupation, 'en')
    return {
      occupationCode: search.code(occupation),
      ...(titleEnglish !== undefined && { titleEnglish }),
      certainty: round(judge(occupation)),
    }
  })
  const certainty = candidates[0]?.certainty ?? 0
  const code = certainty >= CERTAIN ? candidates[0]?.occupationCode : undefined
  const group = code === undefined ? findGroup(search, probability) : undefined
  return {
    ...own,
    ...(code !== undefined && { code }),
    certainty,
    candidates,
    ...(group !== undefined && { group }),
  }
}

/** The numbers of what is probable at all, the most probable first. */
function findBest(probability: Float64Array, count: number): number[] {
  return takeBest(
    probability.keys().filter((each) => (probability[each] as number) > 0),
    probability,
    count,
  )
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
