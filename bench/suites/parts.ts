import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { compare, type Run, report } from '../compare.ts'
import { PAGE, prepareDatabase, startMahi } from '../mahi.ts'

/** Parts of a request: the first pattern that matches a function, from the innermost outwards, says whose time it is. */
const PARTS: readonly [string, RegExp][] = [
  ['collecting garbage', /^\(garbage collector\)/],
  ['log line and metrics', /\/src\/api\/telemetry\/|\/pino\/|\/sonic-boom\/|\/prom-client\//],
  ['key', /\/src\/api\/access\/(?:access-state|admit|credentials|keys)\./],
  ['limit', /\/src\/api\/access\/rate-limit\./],
  ['query', /\/src\/foundation\/database\/(?!caller\.)|\/better-sqlite3\//],
  ['joining the page', /^renderPage |\/src\/api\/serving\/page(?:-cache)?\./],
  [
    'parameters',
    /\/src\/api\/request\/|\/src\/foundation\/cache\/remember\.|\/src\/catalogue\/records\/list-query\./,
  ],
  [
    'sending: headers and socket',
    /\/src\/api\/serving\/(?:headers|send|in-flight|connections)\.|\/src\/foundation\/slots\./,
  ],
  ['other code of Mahi', /\/src\//],
  ['Fastify and its router', /\/fastify\/|\/find-my-way\/|\/@fastify\//],
  ['Node: parser, sockets, event loop', /./],
]

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  /** Microseconds. */
  readonly timeDeltas: readonly number[]
}

/** What a request's parts cost, from a profile under load: a page from memory, and one read from SQLite. */
export async function benchParts(run: Run): Promise<void> {
  const url = `sqlite:${run.folder}occupations-1000.db`
  const { key } = await prepareDatabase(url, { records: 1_000 })
  for (const [name, cache] of [
    ['from memory', '64'],
    ['from SQLite', '0'],
  ] as const) {
    const folder = mkdtempSync(`${run.folder}profile-`)
    const server = await startMahi(url, `profiled, ${name}`, { PAGE_CACHE_MB: cache }, [
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
    ])
    const entry = { contender: server, load: { path: PAGE, headers: { 'X-API-Key': key } } }
    await compare(run, 'parts', `a profiled process, page of 20 ${name}`, [entry])
    await server.stop()
    const [file = ''] = readdirSync(folder)
    const shares = sharesOf(JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as Profile)
    rmSync(folder, { recursive: true })
    const cost = run.rows.at(-1)?.cpuPerRequest ?? Number.NaN
    report(run, {
      suite: 'parts',
      figure: `parts of a page of 20 ${name}, µs`,
      values: Object.fromEntries(
        PARTS.map(([part]) => [part, Math.round((shares.get(part) ?? 0) * cost * 10) / 10]),
      ),
    })
  }
}

/** Of the time that the process worked, once it served, the share of each part. */
function sharesOf({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const partOf = new Map<number, string | undefined>()
  for (const { id } of nodes) {
    const names: string[] = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const { functionName = '', url = '' } = byId.get(at)?.callFrame ?? {}
      names.push(`${functionName} ${url}`)
    }
    const [innermost = ''] = names
    // Loading the program is no part of a request.
    const isOther =
      /^\((idle|program|root)\)/.test(innermost) || names.some((each) => /esm\/|cjs\//.test(each))
    partOf.set(id, isOther ? undefined : findPart(names))
  }
  const times = new Map<string, number>()
  let all = 0
  for (const [index, id] of samples.entries()) {
    const part = partOf.get(id)
    if (part === undefined) continue
    const time = timeDeltas[index] ?? 0
    times.set(part, (times.get(part) ?? 0) + time)
    all += time
  }
  return new Map([...times].map(([part, time]) => [part, time / all]))
}

/** The outermost function of ours that has a part says it, so that a driver's or Node's own time is its caller's. */
function findPart(names: readonly string[]): string | undefined {
  for (const name of names) {
    const found = PARTS.slice(0, -3).find(([, pattern]) => pattern.test(name))
    if (found !== undefined) return found[0]
  }
  const [innermost = ''] = names
  return PARTS.slice(-3).find(([, pattern]) => pattern.test(innermost))?.[0]
}
