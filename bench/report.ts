// Makes the tables of docs/performance.md from bench/results.json.
import { readFileSync, writeFileSync } from 'node:fs'
import type { Row } from './compare.ts'
import type { Results } from './run.ts'

const source = new URL(process.argv[2] ?? 'results.json', import.meta.url)
const results = JSON.parse(readFileSync(source, 'utf8')) as Results
const page = new URL('../docs/performance.md', import.meta.url)

const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })

/** Cases that the page leaves out: smaller catalogues, and what another case shows as well. */
const LEFT_OUT = [
  /^page of 20 from \w+, 10{0,2},000 records$/,
  /^one page for 32 callers/,
  /^results page .* PostgreSQL$/,
  /^any page, /,
]

/** The cases of a suite as one table: a line in bold names each, and its contenders follow. */
function tableOf(suite: string, title: string): string {
  const rows = results.rows.filter(
    (row) =>
      row.suite === suite &&
      !LEFT_OUT.some((each) => each.test(row.case)) &&
      row.contender !== 'node:http, one buffer',
  )
  const columns = [
    '',
    'requests/s',
    'spread',
    'p99, ms',
    'processor, µs',
    'of the first line',
    'by processor time',
  ]
  const lines = [...Map.groupBy(rows, (row) => row.case)].flatMap(([name, contenders]) => [
    [`**${name.charAt(0).toUpperCase()}${name.slice(1)}**`, ...columns.slice(1).map(() => '')],
    ...contenders.map(({ contender, requestsPerSecond, spread, p99, cpuPerRequest, ratio, cpuRatio }) => [
      contender,
      number(requestsPerSecond),
      `${number(spread[0])} to ${number(spread[1])}`,
      requestsPerSecond === 0 ? '–' : number(p99, 1),
      requestsPerSecond === 0 ? '–' : number(cpuPerRequest),
      share(ratio),
      share(cpuRatio),
    ]),
  ])
  return [
    `### ${title}`,
    '',
    `| ${columns.join(' | ')} |`,
    `|${columns.map(() => '---|').join('')}`,
    ...lines.map((line) => `| ${line.join(' | ')} |`),
  ].join('\n')
}

function figureTable(): string {
  const isLast = (name: string) => !/records$/.test(name) || /1,000,000 records$/.test(name)
  const lines = results.figures
    .filter(({ suite, figure }) => suite !== 'parts' && isLast(figure))
    .map(({ figure, values }) => {
      const text = Object.entries(values)
        .map(([name, value]) => `${name}: ${typeof value === 'number' ? number(value, 2) : value}`)
        .join('; ')
      return `| ${figure} | ${text} |`
    })
  return ['### Imports, starts and memory', '', '| what | measured |', '|---|---|', ...lines].join('\n')
}

/** A ratio; JSON keeps `null` for one with nothing to divide by. */
function share(ratio: number | null): string {
  return ratio === null || !Number.isFinite(ratio) ? '–' : ratio.toFixed(2)
}

/** The rows of the last case whose name begins so: the largest catalogue comes last. */
function rowsOf(start: string): Map<string, Row> {
  const name = results.rows.findLast((row) => row.case.startsWith(start))?.case
  return new Map(results.rows.filter((row) => row.case === name).map((row) => [row.contender, row]))
}

function figureOf(start: string, value: string): number {
  const found = results.figures.findLast(({ figure }) => figure.startsWith(start))?.values[value]
  return typeof found === 'number' ? found : Number.NaN
}

/** The goals of the project, each with what was measured. */
function goalTable(): string {
  const rate = (rows: Map<string, Row>, contender: string) =>
    rows.get(contender)?.requestsPerSecond ?? Number.NaN
  const ratio = (rows: Map<string, Row>, contender: string) => rows.get(contender)?.ratio ?? Number.NaN
  const memory = (encoding: string) => ratio(rowsOf(`page of 20 from memory, ${encoding}`), 'Mahi')
  const store = rowsOf('page of 20 from SQLite')
  const postgres = rowsOf('page of 20 from PostgreSQL')
  const findings = rowsOf('results page of 100 of 5,000,000, SQLite')
  const far = [...findings.keys()].at(-1) ?? ''
  const few = (rows: Map<string, Row>) =>
    Math.min(...[...rows.values()].map((row) => row.requestsPerSecond / rate(rows, 'first')).slice(2))
  const peers = (start: string) => {
    const rows = rowsOf(start)
    const best = (counts: (name: string) => boolean) =>
      Math.max(...[...rows.keys()].filter(counts).map((name) => rate(rows, name)))
    const isPeer = (name: string) => !name.startsWith('Mahi')
    return {
      all: rate(rows, 'Mahi, everything on') / best(isPeer),
      overDatabase:
        rate(rows, 'Mahi, everything on') / best((name) => isPeer(name) && !name.startsWith('json-server')),
    }
  }
  const first = peers('first page of 20')
  const deep = peers('page of 20 at a depth')
  const peak = 'memory, page cache of 64 MB'
  const lines: [string, string, string, number][] = [
    ['page of 20 from memory, everything on', 'Fastify sending the same bytes', '0.80', memory('identity')],
    ['the same, gzip', 'Fastify sending the same compressed bytes', '0.80', memory('gzip')],
    ['the same, brotli', 'the same', '0.80', memory('br')],
    ['304', 'Fastify sending an empty 304', '0.80', ratio(rowsOf('304'), 'Mahi')],
    [
      'page of 20 from SQLite, no page cache',
      'Fastify sending the same bytes',
      '0.16',
      ratio(store, 'first'),
    ],
    [
      'page of 20 from PostgreSQL, no page cache',
      'a bare handler with one query',
      '0.85',
      ratio(postgres, 'any page'),
    ],
    [
      'results page of 100 from SQLite, no cache',
      'a bare handler with one query',
      '0.85',
      ratio(findings, 'Mahi, page 1'),
    ],
    [
      'last page of the largest catalogue',
      'its first page',
      '0.90',
      rate(store, 'last') / rate(store, 'first'),
    ],
    ['hardest filter of the largest catalogue', 'its first page', '0.25', few(store)],
    [
      'last page of the findings',
      'their first page',
      '0.95',
      rate(findings, far) / rate(findings, 'Mahi, page 1'),
    ],
    ['page of 20, everything on', 'the best peer, first page with total', '20', first.all],
    ['the same at a depth of 100,000', 'the best peer', '40', deep.all],
    ['the same', 'the best peer over a database', '200', deep.overDatabase],
    ['import', 'bare loop of the driver', '0.50', figureOf('import', 'ratio')],
    ['publish', 'bare loop of the driver', '0.50', figureOf('publish', 'ratio')],
    [
      'two processes on two cores, the load generator left out',
      'one',
      '1.6',
      figureOf('two processes', 'twice the cost of a request in one process, of its cost in two'),
    ],
    [
      'the same, with the load generator on the same cores',
      'one',
      '',
      figureOf('two processes', 'by requests a second'),
    ],
    [
      'start to first answer, largest catalogue, s',
      '',
      'under 1',
      figureOf('start to first answer', 'seconds'),
    ],
    [
      'memory after every page in turn, page cache 64 MB, mapped file left out, MB more',
      'bare Fastify',
      'under + 100',
      figureOf(peak, 'Mahi after it, without the mapped file, MB') -
        figureOf(peak, 'Fastify, one buffer, at most, MB'),
    ],
  ]
  return [
    '| case | against | goal | measured |',
    '|---|---|---|---|',
    ...lines.map(
      ([name, against, goal, measured]) =>
        `| ${name} | ${against} | ${goal} | ${Number.isNaN(measured) ? 'not measured' : measured < 10 ? measured.toFixed(2) : number(measured)} |`,
    ),
  ].join('\n')
}

const TITLES = {
  operations: 'Operations',
  memory: 'From memory',
  store: 'From SQLite',
  postgres: 'From PostgreSQL',
}
const machines = [
  ...Map.groupBy(Object.entries(results.suites), ([, { machine, node }]) => `${machine}, Node ${node}`),
]
const suites = machines.map(([machine, runs]) => {
  const each = runs.map(
    ([name, { date, rounds, seconds }]) => `${name} ${date}, ${rounds} rounds of ${seconds} s`,
  )
  return `${machine} (${each.join('; ')})`
})
const generated = [
  goalTable(),
  '',
  `Medians, load by ${results.generator} with 32 connections, each process driven for three seconds first. Measured on ${suites.join(' and ')}. The first line of each case is what the others are compared with, round by round.`,
  '',
  ...Object.entries(TITLES).flatMap(([suite, title]) => [tableOf(suite, title), '']),
  figureTable(),
].join('\n')

const text = readFileSync(page, 'utf8')
const [start, end] = ['<!-- figures -->', '<!-- end of figures -->']
if (!text.includes(start) || !text.includes(end))
  throw new Error('docs/performance.md has no place for the figures')
writeFileSync(
  page,
  `${text.slice(0, text.indexOf(start) + start.length)}\n\n${generated}\n\n${text.slice(text.indexOf(end))}`,
)
