import type { Client, OccupationPage } from '../../client/src/index.ts'
import { PACKAGE_ROOT } from '../../src/foundation/package/root.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { compare, type Entry, type Run } from '../compare.ts'
import { fetchPage, importOnet, PAGE, prepareDatabase, script, startMahi } from '../mahi.ts'
import { Place, waitFor } from '../submissions/place.ts'

const SAMPLE = new URL('samples/sdr/faulty/', PACKAGE_ROOT).pathname
const WORDS = ['nurse', 'truk driver', 'software', 'teacher aide', 'early childhood', 'carpentr']

/** Every operation that reads, without kept pages, beside a page from memory. */
export async function benchOperations(run: Run): Promise<void> {
  const { cached, place, loads, stop } = await startOperations(run)
  await compare(run, 'operations', 'operations, nothing kept in memory', [
    { contender: cached, label: 'page of 20 from memory', load: { path: PAGE, headers: loads.headers } },
    ...loads.entries.map(([label, load]) => ({ contender: place.server, label, load })),
  ])
  await stop()
}

/**
 * Starts a server that keeps pages in memory and one that does not, on a catalogue and a submission with two runs, and
 * lists a load for each operation that reads.
 */
export async function startOperations(run: Pick<Run, 'folder' | 'onet'>) {
  const url = `sqlite:${run.folder}operations.db`
  if (run.onet === undefined) await prepareDatabase(url, { records: 1_000 })
  else await importOnet(url, run.onet)
  const place = await Place.start(url, 1)
  const [client] = place.clients as [Client]
  await place.startWorkers(1)
  const token = await place.upload(client, SAMPLE)
  for (let count = 0; count < 2; count++) await waitFor(await place.request(client, token))
  await whenSearchable(place.server.url, place.key)
  await place.stopWorkers()

  const headers = { 'x-api-key': place.key, eid: '7000' }
  const first = await fetchPage(place.server, '/v1/occupations?Limit=50', headers)
  const { data = [] } = (await first.json()) as OccupationPage
  const codes = data.map(({ occupationCode = '' }) => encodeURIComponent(occupationCode))
  const items = data.slice(0, 10).map(({ titleEnglish = '' }) => ({ title: titleEnglish }))
  const submission = `/v1/submissions/${token}`
  const one = (path: string): Entry['load'] => ({ path, headers })
  const inTurn = (paths: readonly string[]): Entry['load'] => ({
    path: PAGE,
    headers,
    script: script('contenders/in-turn.lua'),
    arguments: paths,
  })
  const entries: readonly [string, Entry['load']][] = [
    ['list occupations, page of 20', one(PAGE)],
    ['look up an occupation', inTurn(codes.map((code) => `/v1/occupations/${code}`))],
    ['list groups', one('/v1/occupation-groups')],
    [
      'search occupations',
      inTurn(WORDS.map((words) => `/v1/occupations/search?q=${encodeURIComponent(words)}`)),
    ],
    [
      'complete names',
      inTurn(WORDS.map((words) => `/v1/occupations/suggestions?q=${encodeURIComponent(words.slice(0, 5))}`)),
    ],
    [
      'code ten job titles',
      {
        path: '/v1/codings',
        headers,
        script: script('contenders/post.lua'),
        arguments: [JSON.stringify({ items })],
      },
    ],
    ['follow changes, page of 20', one('/v1/occupations/changes?Limit=20')],
    ['validation results, page of 20', one(`${submission}/validation-results?pageSize=20`)],
    ['the same, filtered', one(`${submission}/validation-results?pageSize=20&Filter.ErrorType=Warning`)],
    ['summary of validation results', one(`${submission}/validation-results/summary`)],
    ['changes between runs, page of 20', one(`${submission}/validation-results/changes?pageSize=20`)],
    ['a submission', one(submission)],
    ['list submissions', one('/v1/submissions')],
    ['a run', one(`${submission}/validation-runs/2`)],
    ['rules', one('/v1/rules')],
    ['own access', one('/v1/me')],
  ]
  const cached = await startMahi(url, 'Mahi, from memory')
  return {
    cached,
    place,
    loads: { headers, entries },
    stop: async () => void (await Promise.all([cached.stop(), place.stop()])),
  }
}
