import { parseArgs } from 'node:util'
import { codeTitle } from '../../src/engines/finding/coding.ts'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import type { OccupationSearch } from '../../src/engines/finding/search.ts'
import { seeded } from '../data.ts'
import { type Find, openFts5, openMahi, openNgrams } from './engines.ts'
import { drawQueries, readCatalogue } from './queries.ts'
import {
  isRight,
  type LabelledTitle,
  learn,
  listUnknown,
  readEveryday,
  readTitles,
  type TitleSource,
} from './titles.ts'

// node bench/search/goals.ts --onet FOLDER --wages FILE --titles FILE [--only mahi]
// How well titles that others have labelled are found and coded, by engine and by source of the titles.

const { values } = parseArgs({
  options: {
    onet: { type: 'string' },
    wages: { type: 'string' },
    titles: { type: 'string' },
    only: { type: 'string' },
  },
})
if (values.onet === undefined || values.wages === undefined || values.titles === undefined) {
  throw new Error(
    '--onet, --wages and --titles must name an O*NET release, the OEWS file and labelled titles',
  )
}
const { onet, wages } = values

const ADDITIONS: readonly ((title: string) => string)[] = [
  (title) => `Senior ${title}`,
  (title) => `Lead ${title}`,
  (title) => `${title} (Full Time)`,
  (title) => `${title} - Night Shift`,
  (title) => `${title} II`,
]

const NO_JOBS = [
  ...['unemployed', 'student', 'retired', 'n/a', 'none', 'housewife', 'homemaker', 'not working', 'unknown'],
  'between jobs',
]

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const documents = await readCatalogue(onet, wages)
const sources = await readTitles(values.titles)
const contenders: Record<string, (list: readonly SearchDocument[]) => Find | undefined> = {
  mahi: (list) => openMahi(list).find,
  fts5: openFts5,
  'n-grams': openNgrams,
}
for (const [name, open] of Object.entries(contenders)) {
  if (values.only === undefined || values.only === name) await measureRecall(name, open)
}
if (values.only === undefined || values.only === 'mahi') await measureCertainty()

/** R@1, 5 and 10 of the titles that are no name of the catalogue, and of employers' after learning half of them. */
async function measureRecall(
  contender: string,
  open: (list: readonly SearchDocument[]) => Find | undefined,
): Promise<void> {
  const find = open(documents)
  if (find === undefined) {
    print(`${contender}: skipped, for npm install --prefix bench/peers has not been run`)
    return
  }
  for (const source of sources) {
    const titles = listUnknown(source, documents)
    print(`${contender}: ${source.name}: R@1/5/10 ${show(countHits(find, titles), titles.length)}`)
    if (source.name !== 'employers') continue
    const hits = [0, 0, 0]
    for (const half of [0, 1]) {
      const learnt = open(
        learn(
          documents,
          titles.filter((_, at) => at % 2 === half),
        ),
      )
      if (learnt === undefined) continue
      const found = countHits(
        learnt,
        titles.filter((_, at) => at % 2 !== half),
      )
      found.forEach((count, at) => {
        hits[at] = (hits[at] ?? 0) + count
      })
    }
    print(`${contender}: ${source.name}, half of them learnt: R@1/5/10 ${show(hits, titles.length)}`)
  }
  for (const [half, list] of Object.entries(await readEveryday())) {
    for (const kind of new Set(list.map((query) => query.kind))) {
      const part = list.filter((query) => query.kind === kind)
      const ranks = part.map((query) => find(query.title, 3).findIndex((code) => isRight(query, code)))
      const within = (most: number) => ranks.filter((rank) => rank >= 0 && rank < most).length
      print(
        `${contender}: everyday, ${half}, ${kind}: first ${within(1)}, in three ${within(3)} of ${part.length}`,
      )
    }
  }
  const { queries, documents: rest } = await drawQueries(onet, wages, 2000, 1)
  const others = open(rest)
  if (others === undefined) return
  for (const kind of ['text', 'typo', 'half'] as const) {
    const hits = [0, 0, 0]
    for (const query of queries)
      count(
        hits,
        others(query[kind], 10).findIndex((code) => query.codes.includes(code)),
      )
    print(`${contender}: drawn from O*NET, ${kind}: R@1/5/10 ${show(hits, queries.length)}`)
  }
}

function countHits(find: Find, titles: readonly LabelledTitle[]): number[] {
  const hits = [0, 0, 0]
  for (const title of titles)
    count(
      hits,
      find(title.title, 10).findIndex((code) => isRight(title, code)),
    )
  return hits
}

function count(hits: number[], rank: number): void {
  for (const [at, most] of [1, 5, 10].entries()) if (rank >= 0 && rank < most) hits[at] = (hits[at] ?? 0) + 1
}

function show(hits: readonly number[], total: number): string {
  return `${hits.map((each) => percent(each / total)).join('/')} % of ${total}`
}

async function measureCertainty(): Promise<void> {
  const { search } = openMahi(documents)
  for (const source of sources) {
    const unknown = new Set(listUnknown(source, documents))
    const codings = judge(search, source)
    const literal = codings.filter(({ title }) => !unknown.has(title))
    print(
      `certainty: ${source.name}: expected calibration error ${percent(measureError(codings))} %, of literal names ${percent(measureError(literal))} %`,
    )
    const mean = literal.reduce((sum, { certainty }) => sum + certainty, 0) / literal.length
    const right = literal.filter((each) => each.right).length / literal.length
    print(`  literal names: certainty ${percent(mean)} %, right ${percent(right)} % of ${literal.length}`)
    print(`  coded at a precision of 0.9: ${percent(shareAtPrecision(codings, 0.9))} %`)
    for (let from = 0; from < 1; from += 0.2) {
      const part = codings.filter(({ certainty }) => certainty >= from && certainty < from + 0.2)
      const hits = part.filter((each) => each.right).length
      if (part.length > 0)
        print(`    from ${from.toFixed(1)}: right ${percent(hits / part.length)} % of ${part.length}`)
    }
    print(
      `  first result unchanged: ${showUnchanged(
        search,
        source.titles.map(({ title }) => title),
      )}`,
    )
  }
  const coded = NO_JOBS.filter((title) => codeTitle(search, { title }).certainty > 0)
  print(`no jobs: ${coded.length} of ${NO_JOBS.length} coded ${coded.join(', ')}`)
  const disordered = sources.flatMap(({ titles }) =>
    titles.filter(({ title }) => {
      const [first, second, third] = codeTitle(search, { title }).candidates.map(({ certainty }) => certainty)
      return (first ?? 0) < (second ?? 0) || (second ?? 0) < (third ?? 0)
    }),
  )
  print(`candidates not in the order of their certainty: ${disordered.length} titles`)
  const random = seeded(1)
  const names = documents.flatMap((document) => document.names.map(({ text }) => text))
  const drawn = Array.from({ length: 1000 }, () => names[Math.floor(random() * names.length)] ?? '')
  print(`names of O*NET: first result unchanged: ${showUnchanged(search, drawn)}`)
}

interface Judged {
  readonly title: LabelledTitle
  readonly certainty: number
  readonly right: boolean
}

function judge(search: OccupationSearch, { titles }: TitleSource): Judged[] {
  return titles.map((title) => {
    const { certainty, candidates } = codeTitle(search, { title: title.title })
    return { title, certainty, right: isRight(title, candidates[0]?.occupationCode) }
  })
}

/** Expected calibration error: the mean difference of certainty and precision, in ten bins of equal width. */
function measureError(codings: readonly Judged[]): number {
  const bins = Array.from({ length: 10 }, () => ({ certainty: 0, right: 0 }))
  for (const { certainty, right } of codings) {
    const bin = bins[Math.min(9, Math.floor(certainty * 10))]
    if (bin === undefined) continue
    bin.certainty += certainty
    bin.right += Number(right)
  }
  return bins.reduce((sum, { certainty, right }) => sum + Math.abs(certainty - right), 0) / codings.length
}

/** The largest share of the titles, the surest first, of which this share is right. */
function shareAtPrecision(codings: readonly Judged[], precision: number): number {
  const sorted = codings.toSorted((a, b) => b.certainty - a.certainty)
  let [right, best] = [0, 0]
  sorted.forEach((each, at) => {
    right += Number(each.right)
    // Titles of equal certainty are coded together.
    if (sorted[at + 1]?.certainty !== each.certainty && right >= precision * (at + 1)) best = at + 1
  })
  return best / sorted.length
}

function showUnchanged(search: OccupationSearch, titles: readonly string[]): string {
  const first = (query: string) => search.search({ query, limit: 1 }).results[0]?.occupationCode
  const plain = titles.map(first)
  return ADDITIONS.map((add) => {
    const same = titles.filter((title, at) => first(add(title)) === plain[at]).length
    return `${add('X')} ${percent(same / titles.length)} %`
  }).join(', ')
}

function percent(share: number): string {
  return (100 * share).toFixed(1)
}
