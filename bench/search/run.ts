import { parseArgs } from 'node:util'
import { codeTitle } from '../../src/engines/finding/coding.ts'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import type { OccupationSearch } from '../../src/engines/finding/search.ts'
import { seeded } from '../data.ts'
import { type Find, openFts5, openMahi } from './engines.ts'
import { drawQueries, type Query } from './queries.ts'

// node bench/search/run.ts --onet FOLDER --wages FILE [--count 2000] [--seed 1] [--scale 20000]

const { values } = parseArgs({
  options: {
    onet: { type: 'string' },
    wages: { type: 'string' },
    count: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    scale: { type: 'string' },
  },
})
if (values.onet === undefined || values.wages === undefined) {
  throw new Error('--onet must name the folder of an O*NET text release, and --wages the OEWS file')
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const { queries, documents } = await drawQueries(
  values.onet,
  values.wages,
  Number(values.count),
  Number(values.seed),
)
const catalogue = values.scale === undefined ? documents : enlarge(documents, Number(values.scale))
const nameCount = catalogue.reduce((sum, { names }) => sum + names.length, 0)
print(`${catalogue.length} occupations, ${nameCount} names, ${queries.length} queries`)
let mahi: OccupationSearch | undefined
measure('mahi', (list) => {
  const { find, search } = openMahi(list)
  mahi = search
  return find
})
if (mahi !== undefined && values.scale === undefined) measureCodings(mahi)
if (values.scale === undefined) {
  measure('fts5', openFts5)
}

function measure(name: string, open: (documents: readonly SearchDocument[]) => Find): void {
  const before = process.cpuUsage()
  const find = open(catalogue)
  print(`${name}: built in ${(seconds(before)).toFixed(1)} s of CPU time`)
  // The first queries also pay for compiling the code.
  for (const { half } of queries.slice(0, 100)) find(half, 10)
  for (const kind of ['text', 'typo', 'half'] as const)
    print(`  ${kind}: ${measureKind(find, queries, kind)}`)
}

function measureKind(find: Find, list: readonly Query[], kind: 'text' | 'typo' | 'half'): string {
  const hits = [0, 0, 0]
  const times: number[] = []
  for (const query of list) {
    const before = process.cpuUsage()
    const found = find(query[kind], 10)
    times.push(seconds(before) * 1000)
    const rank = found.findIndex((code) => query.codes.includes(code))
    for (const [at, k] of [1, 5, 10].entries()) if (rank >= 0 && rank < k) hits[at] = (hits[at] ?? 0) + 1
  }
  times.sort((a, b) => a - b)
  const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(2)
  const shares = hits.map((count) => ((100 * count) / list.length).toFixed(1))
  return `R@1/5/10 ${shares.join(' / ')} %, CPU time p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`
}

/** How many of the surest codings are right, and of those of about the same certainty. */
function measureCodings(search: OccupationSearch): void {
  const codings = queries.map(({ text, codes }) => {
    const { certainty, candidates } = codeTitle(search, { title: text })
    return { certainty, right: codes.includes(candidates[0]?.occupationCode ?? '') }
  })
  const show = (list: typeof codings) =>
    `${((100 * list.filter(({ right }) => right).length) / list.length).toFixed(1)} % of ${list.length}`
  codings.sort((a, b) => b.certainty - a.certainty)
  print(`  codings: right ${show(codings.slice(0, Math.round(codings.length * 0.4)))}, the surest 40 %`)
  for (let from = 0; from < 10; from += 2) {
    const part = codings.filter(({ certainty }) => certainty >= from / 10 && certainty < (from + 2) / 10)
    if (part.length > 0) print(`    with a certainty from 0.${from}: ${show(part)}`)
  }
}

function seconds(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** A larger catalogue of the same words: ten names for each occupation. */
function enlarge(documents: readonly SearchDocument[], size: number): SearchDocument[] {
  const random = seeded(1)
  const names = documents.flatMap((document) => document.names.map(({ text }) => text))
  const texts = documents.flatMap((document) => document.texts)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const makeName = () => (random() < 0.5 ? `${pick(names).split(' ')[0]} ${pick(names)}` : pick(names))
  return Array.from({ length: size }, (_, at) => ({
    code: `X${String(at).padStart(7, '0')}`,
    names: Array.from({ length: 10 }, (_, place) => ({
      text: makeName(),
      language: 'en' as const,
      field: place === 0 ? ('title' as const) : ('searchOnly' as const),
    })),
    texts: Array.from({ length: 12 }, () => pick(texts)),
    minorGroups: [],
    majorGroups: [],
  }))
}
