// Makes the tables of docs/performance.md, and the plot beside it, from bench/results.json.
import { readFileSync, writeFileSync } from 'node:fs'

interface Row {
  case: string
  contender: string
  requestsPerSecond: number
  spread: [number, number]
  p99: number
  cpuPerRequest: number
  ratio: number
  cpuRatio: number
  peakMemory: number
  errors: number
}
interface Results {
  date: string
  machine: string
  node: string
  generator: string
  quick: boolean
  rounds: number
  seconds: number
  rows: Row[]
  figures: Record<string, string | number>[]
}

const source = new URL(process.argv[2] ?? 'results.json', import.meta.url)
const results = JSON.parse(readFileSync(source, 'utf8')) as Results
const page = new URL('../docs/performance.md', import.meta.url)

const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })

function tableOf(name: string): string {
  const rows = results.rows.filter((row) => row.case === name)
  const lines = rows.map(
    ({ contender, requestsPerSecond, spread, p99, cpuPerRequest, ratio, cpuRatio }) =>
      `| ${contender} | ${number(requestsPerSecond)} | ${number(spread[0])} to ${number(spread[1])} | ${number(p99, 1)} | ${number(cpuPerRequest)} | ${ratio.toFixed(2)} | ${cpuRatio.toFixed(2)} |`,
  )
  return [
    `### ${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    '',
    '| | requests/s | spread | p99, ms | processor, µs | of the floor | of the floor, by processor |',
    '|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

function figureTable(): string {
  const lines = results.figures.map(({ figure, ...values }) => {
    const text = Object.entries(values)
      .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value, 2) : value}`)
      .join(', ')
    return `| ${figure} | ${text} |`
  })
  return ['| what | figures |', '|---|---|', ...lines].join('\n')
}

/** How the cost of a page grows with the catalogue: processor time, relative to the smallest. */
function plot(): string {
  const points = results.rows.flatMap((row) => {
    const size = /from SQLite, ([\d,]+) records/.exec(row.case)?.[1]
    return size === undefined ? [] : [{ ...row, size: Number(size.replaceAll(',', '')) }]
  })
  const lines = ['first', 'last', 'one major group', 'window of 5 %']
  const sizes = [...new Set(points.map(({ size }) => size))].sort((a, b) => a - b)
  const [width, height, left, bottom] = [640, 320, 60, 40]
  const most = Math.max(
    ...points.filter(({ contender }) => lines.includes(contender)).map((each) => each.cpuPerRequest),
  )
  const x = (size: number) =>
    left + (sizes.indexOf(size) / Math.max(1, sizes.length - 1)) * (width - left - 150)
  const y = (value: number) => height - bottom - (value / most) * (height - bottom - 20)
  const colours = ['#0b6e4f', '#c75b12', '#2f4b7c', '#8a1c4a']
  const curves = lines.map((name, index) => {
    const own = points.filter(({ contender }) => contender === name).sort((a, b) => a.size - b.size)
    const path = own.map(({ size, cpuPerRequest }) => `${x(size)},${y(cpuPerRequest)}`).join(' ')
    const end = own.at(-1)
    return `<polyline points="${path}" fill="none" stroke="${colours[index]}" stroke-width="2"/>
<text x="${end === undefined ? 0 : x(end.size) + 8}" y="${end === undefined ? 0 : y(end.cpuPerRequest) + 4}" fill="${colours[index]}">${name}</text>`
  })
  const ticks = sizes.map(
    (size) => `<text x="${x(size)}" y="${height - bottom + 20}" text-anchor="middle">${number(size)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>Processor time of a page of 20, by the size of the catalogue</title>
<rect width="100%" height="100%" fill="#fff"/>
<line x1="${left}" y1="${height - bottom}" x2="${width - 140}" y2="${height - bottom}" stroke="#555"/>
<line x1="${left}" y1="20" x2="${left}" y2="${height - bottom}" stroke="#555"/>
<text x="${left - 8}" y="26" text-anchor="end">${number(most)} µs</text>
<text x="${left - 8}" y="${height - bottom}" text-anchor="end">0</text>
${ticks.join('\n')}
<text x="${(left + width - 150) / 2}" y="${height - 4}" text-anchor="middle">records in the catalogue</text>
${curves.join('\n')}
</svg>
`
}

const cases = [...new Set(results.rows.map((row) => row.case))]
const generated = [
  `Measured on ${results.date.slice(0, 10)} on ${results.machine}, Node ${results.node}, load by ${results.generator} with 32 connections; ${results.rounds} rounds of ${results.seconds} s each after one to warm up, medians.`,
  '',
  ...cases.flatMap((name) => [tableOf(name), '']),
  '### Work that is not a request, and life of the process',
  '',
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
writeFileSync(new URL('../docs/performance.svg', import.meta.url), plot())
