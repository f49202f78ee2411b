import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isEngine } from '../../bench/empty-database.ts'
import { findPostgres } from '../../test/support/find-postgres.ts'
import { MemoryCgroup } from './memory-cgroup.ts'
import type { AttackResult } from './result.ts'
import { ATTACKS, runAttacks } from './run-attacks.ts'

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    engine: { type: 'string', default: 'sqlite' },
    /** Comma-separated names; without it, all. */
    attacks: { type: 'string' },
    /** Fails if the well-behaved caller's median response time is more than three times that at rest. */
    strict: { type: 'boolean', default: false },
    /** Runs the sources instead of a build as in the package; they need more memory. */
    sources: { type: 'boolean', default: false },
    /** How many times as long something may take as promised. */
    slack: { type: 'string', default: '1' },
  },
})
const names = flags.attacks?.split(',')
const attacks = ATTACKS.filter(({ name }) => names === undefined || names.includes(name))
const unknown = names?.filter((name) => !ATTACKS.some((each) => each.name === name)) ?? []
if (unknown.length > 0) throw new Error(`no attack has the name ${unknown.join(' or ')}`)
const { engine } = flags
if (!isEngine(engine)) throw new Error('--engine must be sqlite or postgres')
if (!flags.sources) execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
const root = new URL('../../', import.meta.url)
const program = fileURLToPath(new URL(flags.sources ? 'bin/mahi.js' : 'dist/src/start.js', root))

// Two thirds of the time one attack after another, then all of a caller at once.
const time = Number(flags.minutes) * 60_000
const alone = attacks.length > 1 ? (time * 2) / 3 : time
const MOST_RATIO = 3
const show = (result: AttackResult) => {
  const { name, serve, work, sockets, health, response, ratio, responses, unavailable, faults } = result
  const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`.padStart(8)
  const line = [
    name.padEnd(22),
    mib(serve),
    mib(work),
    sockets === undefined ? ''.padStart(8) : mib(sockets),
    `${Math.round(health)} ms`.padStart(8),
    `${ratio.toFixed(1)} times`.padStart(11),
    `${Math.round(response)} ms`.padStart(8),
  ]
  process.stdout.write(
    `${line.join('  ')}  ${responses} responses, ${unavailable} of them 503${faults.length === 0 ? '' : '  FAILED'}\n`,
  )
  for (const fault of faults) process.stdout.write(`    ${fault}\n`)
  if (faults.length > 0 || (flags.strict && !(ratio <= MOST_RATIO))) process.exitCode = 1
}
const cgroup = MemoryCgroup.make(2 ** 30)
await cgroup?.remove()
process.stdout.write(
  cgroup === undefined
    ? 'No memory cgroup can be made here: the memory of processes is sampled instead.\n'
    : 'Each process runs in a memory cgroup with the limit of deploy/.\n',
)
process.stdout.write(
  'attack; most memory of mahi serve, mahi work and the kernel for connections; slowest response of /livez and /readyz; median and slowest response time of another caller\n',
)
await runAttacks({
  engine,
  postgres: engine === 'postgres' ? await findPostgres() : undefined,
  attacks,
  length: alone / attacks.length,
  together: attacks.length > 1 ? time / 6 : 0,
  restarts: names === undefined ? 3 : 0,
  program,
  sources: flags.sources,
  slack: Number(flags.slack),
  onResult: show,
})
