import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { ENVIRONMENT, MAHI, makeKey, PAGE } from '../mahi.ts'
import { startContender } from '../measure.ts'

// node bench/search/service.ts --onet FOLDER --wages FILE [--count 2000]
// Latency over HTTP beside that of a page from memory, and the event-loop delay while the catalogue is imported and indexed.

const { values } = parseArgs({
  options: {
    onet: { type: 'string' },
    wages: { type: 'string' },
    count: { type: 'string', default: '2000' },
  },
})
const { onet, wages } = values
if (onet === undefined || wages === undefined) {
  throw new Error('--onet must name the folder of an O*NET text release, and --wages the OEWS file')
}

const METRICS_PORT = '19464'
const SEND_FILE = `const fs = require('node:fs'); const server = require('node:http').createServer((_, response) => {
  fs.createReadStream(process.argv[1]).pipe(response) }).listen(0, '127.0.0.1', () =>
  console.log('Listening on http://127.0.0.1:' + server.address().port))`

const count = Number(values.count)
const run = promisify(execFile)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const folder = await mkdtemp(join(tmpdir(), 'mahi-search-'))
const url = `sqlite:${join(folder, 'search.db')}`
const environment = { ...ENVIRONMENT, METRICS_PORT, DATABASE_URL: url, OVERLOAD_DELAY_MS: '0' }
const command = (...rest: string[]) =>
  run(process.execPath, [MAHI, 'occupations', ...rest], {
    env: { ...process.env, ...environment },
    maxBuffer: 2 ** 28,
  })

await command('import-onet', onet, '--wages', wages)
const { key } = await makeKey(url)
const { stdout: exported } = await command('export')
const lines = exported.trimEnd().split('\n')
const titles = lines.map((line): string => JSON.parse(line).titleEnglish)
const codes = lines.map((line): string => JSON.parse(line).occupationCode)
const mahi = await startContender('mahi', [process.execPath, MAHI, 'serve'], environment)
try {
  await whenSearchable(mahi.url, key)
  // Words of two titles: no query is a title, none comes twice, and no page of it is kept.
  const words = (at: number) => {
    const [one, other] = [titles[at % titles.length], titles[(at * 7) % titles.length]]
    return `${at} ${one?.split(' ')[0]} ${other?.split(' ').at(-1)}`
  }
  const page = await time(() => PAGE)
  const search = await time((at) => `/v1/occupations/search?q=${encodeURIComponent(words(at))}`)
  const suggestions = await time(
    (at) => `/v1/occupations/suggestions?q=${encodeURIComponent(words(at).slice(0, -3))}`,
  )
  const lookup = await time((at) => `/v1/occupations/${encodeURIComponent(codes[at % codes.length] ?? '')}`)
  const file = join(folder, 'snapshot')
  await writeFile(file, await ask(`${mahi.url}/v1/occupations/snapshot`))
  const snapshot = await time(() => '/v1/occupations/snapshot', 50)
  const sender = await startContender('file', [process.execPath, '-e', SEND_FILE, file])
  const sent = await time(() => '/', 50, sender.url)
  await sender.stop()
  const idle = await readDelay(3)
  const changed = join(folder, 'changed.ndjson')
  let importing = true
  const imports = (async () => {
    for (let round = 0; round < 3; round++) {
      await writeFile(changed, exported.replaceAll('"titleEnglish":"', `"titleEnglish":"${round} `))
      await command('import', changed)
      await ask(`${mahi.url}/v1/occupations/search?q=nurse`)
    }
    importing = false
  })()
  let delay = 0
  while (importing) delay = Math.max(delay, await readDelay(1))
  await imports
  delay = Math.max(delay, await readDelay(15))
  const compare = (figure: string, measured: number, reference: number, show: typeof ms, goal: string) => [
    figure,
    show(measured),
    show(reference),
    `${(measured / reference).toFixed(2)} (${goal})`,
  ]
  const rows = [
    compare('p99 of a search beside a page', search.p99, page.p99, ms, 'at most 3'),
    compare('p99 of suggestions beside a page', suggestions.p99, page.p99, ms, 'at most 2'),
    compare('rate of look-ups beside a page', lookup.rate, page.rate, rate, 'at least 0.8'),
    compare('rate of snapshots beside a file', snapshot.rate, sent.rate, rate, 'at least 0.5'),
    [
      'longest event-loop delay, importing beside idle',
      ms(delay),
      ms(idle),
      `${(delay - idle).toFixed(1)} ms more (at most 20)`,
    ],
  ]
  for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`)
  process.stdout.write(`load average ${loadavg()[0]?.toFixed(1)}\n`)
} finally {
  await mahi.stop()
  agent.destroy()
  await rm(folder, { recursive: true, force: true })
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`
}

function rate(value: number): string {
  return `${value.toFixed(0)}/s`
}

/** One request after another on one connection. */
async function time(path: (at: number) => string, requests = count, base = mahi.url) {
  // The first ones also pay for compiling the code.
  for (let at = 0; at < requests / 5; at++) await ask(base + path(at + requests))
  const times: number[] = []
  const start = performance.now()
  for (let at = 0; at < requests; at++) {
    const before = performance.now()
    await ask(base + path(at))
    times.push(performance.now() - before)
  }
  const whole = performance.now() - start
  times.sort((a, b) => a - b)
  return { p99: times[Math.floor(times.length * 0.99)] ?? 0, rate: (requests * 1000) / whole }
}

function ask(address: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    get(address, { agent, headers: { 'x-api-key': key } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(Buffer.concat(parts))
          : reject(new Error(`${address} answers ${response.statusCode}`)),
      )
    }).on('error', reject)
  })
}

/** The longest event-loop delay of the serving process in so many seconds, in milliseconds. Reading it resets it. */
async function readDelay(seconds: number): Promise<number> {
  const read = async () => {
    const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()
    return Number(/^nodejs_eventloop_lag_max_seconds(?:\{.*\})? (\S+)/m.exec(text)?.[1]) * 1000
  }
  await read()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  return await read()
}
