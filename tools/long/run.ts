/**
 * `npm run test:long [-- PART...]`: what needs minutes or luck, one part after the other, before a release. Prints a table
 * and writes it as Markdown; exits with 1 if a part fails or a test passes only in its second try.
 *
 *   --small        some parts for some seconds each, with fixed seeds, where only a fault can fail
 *   --seed N       chooses what the parts try; without it a random number, which is printed
 *   --report FILE  the file of the report, var/long-report.md without it
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { endWithParent } from '../../bench/end-with-parent.ts'
import { findPostgres } from '../../test/support/find-postgres.ts'
import { type Command, PARTS, type Part } from './parts.ts'

const root = join(import.meta.dirname, '../..')
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    small: { type: 'boolean', default: false },
    seed: { type: 'string' },
    report: { type: 'string', default: join(root, 'var/long-report.md') },
  },
})
const unknown = positionals.filter((name) => !PARTS.some((part) => part.name === name))
if (unknown.length > 0) {
  const list = PARTS.map(({ name, subject }) => `  ${name.padEnd(12)} ${subject}\n`).join('')
  process.stderr.write(`No part has the name ${unknown.join(' or ')}. The parts are:\n${list}`)
  process.exit(2)
}
const { small } = flags
const seed = flags.seed !== undefined ? Number(flags.seed) : small ? 1 : randomInt(2 ** 31)
const postgres = small ? undefined : await findPostgres()
const parts = PARTS.filter(({ name, small: isSmall }) =>
  positionals.length > 0 ? positionals.includes(name) : isSmall || !small,
)
const temporary = mkdtempSync(join(tmpdir(), 'mahi-long-'))

interface Outcome {
  readonly name: string
  readonly result: string
  readonly seconds: number
  readonly retried: readonly string[]
}

const outcomes: Outcome[] = []
try {
  for (const part of parts) outcomes.push(await runPart(part))
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
const report = describe(outcomes)
mkdirSync(dirname(flags.report), { recursive: true })
writeFileSync(flags.report, report)
process.stdout.write(`\n${report}`)
if (outcomes.some(({ result, retried }) => result !== 'passed' || retried.length > 0)) process.exitCode = 1

async function runPart(part: Part): Promise<Outcome> {
  const { name, subject } = part
  const begun = performance.now()
  const failed: string[] = []
  const retried: string[] = []
  for (const [index, command] of part.commands({ root, seed, small, postgres }).entries()) {
    process.stdout.write(`\n${name}: ${subject}\n> ${command.words.join(' ')}  (seed ${seed})\n`)
    const file = join(temporary, `${name}-${index}`)
    writeFileSync(file, '')
    if (!(await runCommand(command, file))) failed.push(command.words.join(' '))
    retried.push(...readFileSync(file, 'utf8').split('\n').filter(Boolean))
  }
  const result = failed.length === 0 ? 'passed' : 'FAILED'
  return { name, result, seconds: Math.round((performance.now() - begun) / 1000), retried }
}

/** Whether a command succeeds; tests that need a second try are named in the file. */
async function runCommand({ words, environment }: Command, retried: string): Promise<boolean> {
  const [program = '', ...rest] = words
  const path = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const child = spawn(program, rest, {
    cwd: root,
    stdio: 'inherit',
    // A group, because tests start servers, which would stay.
    detached: true,
    env: { ...process.env, PATH: path, RETRIED: retried, ...environment },
  })
  endWithParent(child, () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'))
  const [status] = (await once(child, 'exit')) as [number | null]
  return status === 0
}

function describe(all: readonly Outcome[]): string {
  const rows = all.map(
    ({ name, result, seconds, retried }) =>
      `| ${name} | ${result}${retried.length === 0 ? '' : `, ${retried.length} retried`} | ${seconds} s | ${seed} |\n`,
  )
  const machine = `${cpus().length} x ${cpus()[0]?.model}, Node.js ${process.version}`
  const engines = postgres === undefined ? 'SQLite only' : 'SQLite and PostgreSQL'
  return [
    `# Long run of ${new Date().toISOString().slice(0, 10)}${small ? ', small' : ''}\n\n`,
    `${machine}; ${engines}; \`npm run test:long -- ${process.argv.slice(2).join(' ')}\`\n\n`,
    '| part | result | duration | seed |\n|---|---|--:|--:|\n',
    ...rows,
    ...all.flatMap(({ retried }) => retried.map((line) => `\n${line}`)),
    '\n',
  ].join('')
}
