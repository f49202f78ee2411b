import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { OccupationPage } from '../support/catalogue.ts'
import { Installation, toLines } from '../support/command.ts'
import { UNLIMITED } from '../support/filled-database.ts'
import { type Answer, ask } from '../support/load.ts'
import { engine } from '../support/temporary.ts'
import { Versions } from '../support/versions.ts'

/** Imports, and publishes of each submission: a few here, many with `npm run test:concurrency`. */
const ROUNDS = Number(process.env.CONCURRENCY_ROUNDS ?? 4)

const EIDS = ['1001', '2001']
const tokenOf = (eid: string) => `submission-of-${eid}`

const below = (most: number) => Math.floor(Math.random() * most)
const pick = <T>(list: readonly T[]): T => {
  const found = list[below(list.length)]
  if (found === undefined) throw new Error('nothing to pick from')
  return found
}

/** What an ETag says of the state of the data: all of it up to the hyphen. */
function stateOf({ headers: { etag } }: Answer): string {
  return etag?.split('-')[0] ?? ''
}

/** The revision of the catalogue that a page is of: each import makes the next one. */
function revisionOf(answer: Answer): number {
  return Number(/^W\/"c(\d+)\./.exec(stateOf(answer))?.[1])
}

/** Somebody who reads without pause until he is told to stop. */
class Reader {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #urls: readonly string[]
  readonly #headers: Readonly<Record<string, string>>
  /** Milliseconds between two pages, at most: who dawdles sees more changes in one walk. */
  readonly pause: number

  constructor(urls: readonly string[], headers: Readonly<Record<string, string>>, pause: number) {
    this.#urls = urls
    this.#headers = headers
    this.pause = pause
  }

  /** Asks any replica; now and then once more for the same, in case it has not changed. */
  async ask(path: string): Promise<Answer> {
    if (this.pause > 0) await sleep(below(this.pause))
    const answer = await ask(pick(this.#urls) + path, this.#headers, this.#agent)
    if (answer.status === 200 && below(10) === 0) {
      const headers = { ...this.#headers, 'if-none-match': answer.headers.etag ?? '' }
      const again = await ask(pick(this.#urls) + path, headers, this.#agent)
      // Of the same state, or of another and whole.
      if (again.status === 304) expect(again.headers.etag).toBe(answer.headers.etag)
      else expect(again.headers.etag ?? 'a problem').not.toBe(answer.headers.etag)
    }
    return answer
  }

  close(): void {
    this.#agent.destroy()
  }
}

class Counts {
  pages = 0
  walks = 0
  /** Walks whose pages were of more than one state. */
  changed = 0
}

/** Walks through the catalogue by cursor, under any filter. */
async function walkCatalogue(reader: Reader, versions: Versions, counts: Counts): Promise<void> {
  const date = below(3) === 0 ? versions.pickDate(below(1000)) : undefined
  const filter = { minor: pick(['', '', '11', '12']), after: date?.version }
  const limit = pick([3, 7, 20, 100])
  const query = [
    `Limit=${limit}`,
    ...(filter.minor === '' ? [] : [`Filter.MinorGroupCode=${filter.minor}`]),
    ...(date === undefined ? [] : [`Filter.LastUpdatedAfter=${date.date}`]),
  ].join('&')
  const codes: string[] = []
  const revisions: number[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const answer = await reader.ask(`/v1/occupations?${query}${cursor && `&Cursor=${cursor}`}`)
    expect([answer.status, answer.body.slice(0, 500)]).toEqual([200, expect.stringMatching(/^\{/)])
    const page = JSON.parse(answer.body) as OccupationPage
    versions.assertPage(page, revisionOf(answer), filter, { limit, cursor })
    codes.push(...page.data.map(({ occupationCode }) => occupationCode))
    revisions.push(revisionOf(answer))
    counts.pages++
    cursor = page.nextCursor
  }
  versions.assertWalk(codes, revisions, filter)
  counts.walks++
  if (new Set(revisions).size > 1) counts.changed++
}

/** The runs of a submission: each entry contains its run and position. */
class Runs {
  readonly #totals: number[] = [0]
  /** The run that each ETag names. */
  readonly #names = new Map<string, number>()

  next(): object[] {
    const run = this.#totals.push(below(60)) - 1
    return this.entries(run)
  }

  entries(run: number): object[] {
    return Array.from({ length: this.#totals[run] ?? 0 }, (_, index) => ({
      localId: String(index),
      errorDescription: `Entry ${index} of run ${run}`,
      courseCode: String(run),
    }))
  }

  /** Fails unless a page is a page of one run, and returns it; an empty page shows it only in its ETag. */
  assertPage(answer: Answer, page: number, pageSize: number): number {
    const body = JSON.parse(answer.body) as { results: { courseCode: string }[]; totalCount: number }
    const named = this.#names.get(stateOf(answer))
    const run = body.results.length > 0 ? Number(body.results[0]?.courseCode) : (named ?? -1)
    expect(named ?? run).toBe(run)
    if (run === -1) {
      expect(body).toEqual({ page: 1, pageSize, results: [], totalCount: 0 })
      return run
    }
    this.#names.set(stateOf(answer), run)
    // And no two names are of one run.
    expect([...this.#names.values()].filter((each) => each === run)).toHaveLength(1)
    const entries = this.entries(run)
    const results = entries.slice((page - 1) * pageSize, page * pageSize)
    expect(body).toEqual({ page, pageSize, results, totalCount: entries.length })
    return run
  }
}

/** Walks through the results of a submission by page number. */
async function walkResults(reader: Reader, eid: string, runs: Runs, counts: Counts): Promise<void> {
  const pageSize = pick([3, 7, 20, 100])
  const path = `/v1/submissions/${tokenOf(eid)}/validation-results?pageSize=${pageSize}`
  const states: string[] = []
  const read: object[] = []
  let run = -1
  for (let page = 1, last = 1; page <= last; page++) {
    const answer = await reader.ask(`${path}&page=${page}`)
    if (answer.status === 400) {
      // The current run is shorter: its first page shows that it is another one.
      expect(JSON.parse(answer.body)).toMatchObject({ errorCode: 'PR2' })
      states.push(stateOf(await reader.ask(`${path}&page=1`)))
      expect(states.at(-1)).not.toBe(states[0])
      break
    }
    expect([answer.status, answer.body.slice(0, 500)]).toEqual([200, expect.stringMatching(/^\{/)])
    const newer = runs.assertPage(answer, page, pageSize)
    // Nobody is led back to a run that has been replaced.
    if (newer !== -1) expect(newer).toBeGreaterThanOrEqual(run)
    run = newer
    const { results, totalCount } = JSON.parse(answer.body) as { results: object[]; totalCount: number }
    read.push(...results)
    states.push(stateOf(answer))
    last = Math.ceil(totalCount / pageSize)
    counts.pages++
  }
  counts.walks++
  if (new Set(states).size > 1) counts.changed++
  // Whose pages have ETags that begin alike has the run, the whole run and nothing else.
  else if (run !== -1) expect(read).toEqual(runs.entries(run))
}

test.each([1, 2])(
  'readers page without pause while commands replace what they read: %i of `mahi serve`',
  async (replicas) => {
    const mahi = new Installation({ inProcesses: true })
    const versions = new Versions()
    const runs = new Map(EIDS.map((eid) => [eid, new Runs()]))
    const runsOf = (eid: string) => runs.get(eid) ?? new Runs()

    const importNext = async () => {
      const { records, replace } = versions.next()
      const flags = replace ? ['--replace'] : []
      const summary = (await mahi.runJson(['occupations', 'import', '-', ...flags], {
        input: toLines(records),
      })) as { lastUpdatedDate: string }
      return summary.lastUpdatedDate
    }
    const publishNext = async (eid: string) => {
      const parameters = ['--eid', eid, '--return', `R-${eid}`, '--token', tokenOf(eid), '-']
      await mahi.runJson(['results', 'publish', ...parameters], { input: JSON.stringify(runsOf(eid).next()) })
    }
    versions.learnDate(1, await importNext())
    for (const eid of EIDS) await publishNext(eid)
    const keys = ['keys', 'create', '--client', 'reader', '--eid', ...EIDS]
    const { key } = (await mahi.runJson(keys)) as { key: string }
    // One replica keeps pages in memory and the other does not.
    const urls = await Promise.all(
      Array.from({ length: replicas }, async (_, index) => {
        const { command, url } = await mahi.serve({ ...UNLIMITED, PAGE_CACHE_MB: String(64 - 64 * index) })
        // Its log of all these requests is of no use, and would fill this process.
        command.child.stdout?.removeAllListeners('data').resume()
        return url
      }),
    )

    let over = false
    const [catalogue, results] = [new Counts(), new Counts()]
    const read = async (eid: string, pause: number, walk: (reader: Reader) => Promise<void>) => {
      const reader = new Reader(urls, { 'x-api-key': key, eid }, pause)
      try {
        while (!over) await walk(reader)
      } finally {
        over = true
        reader.close()
      }
    }
    const write = async (work: (round: number) => Promise<void>) => {
      for (let round = 0; round < ROUNDS && !over; round++) await work(round)
    }
    const writing = Promise.all([
      write(async (round) => versions.learnDate(round + 2, await importNext())),
      ...EIDS.map((eid) => write(() => publishNext(eid))),
    ]).finally(() => {
      over = true
    })
    await Promise.all([
      writing,
      ...[0, 0, 40, 100].map((pause) =>
        read('', pause, (reader) => walkCatalogue(reader, versions, catalogue)),
      ),
      ...EIDS.flatMap((eid) =>
        [0, 60].map((pause) => read(eid, pause, (reader) => walkResults(reader, eid, runsOf(eid), results))),
      ),
    ])
    process.stdout.write(
      `${engine}, ${replicas} of mahi serve, ${ROUNDS} imports and ${EIDS.length * ROUNDS} publishes: ${catalogue.pages} pages in ${catalogue.walks} walks by cursor, ${catalogue.changed} of them over a change; ${results.pages} pages in ${results.walks} walks by page number, ${results.changed} of them over a change\n`,
    )
    expect(catalogue.changed + results.changed).toBeGreaterThan(0)
  },
  7_200_000,
)
