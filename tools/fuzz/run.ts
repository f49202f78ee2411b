import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { isEngine, makePlace } from '../../bench/empty-database.ts'
import { findPostgres } from '../../test/support/find-postgres.ts'
import { MODES } from './case.ts'
import { fuzz } from './fuzz.ts'

const { values: flags } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    /** The same seed makes the same requests. */
    seed: { type: 'string' },
    engine: { type: 'string', default: 'sqlite' },
    connections: { type: 'string', default: '16' },
    /** `open` has no rate limits; `limited` has, and a public catalogue. Without it both are tried. */
    mode: { type: 'string' },
    /** The number of the one case to try. */
    only: { type: 'string' },
  },
})
const seed = flags.seed === undefined ? randomInt(2 ** 32) : Number(flags.seed)
const requests = Number(flags.requests)

const { engine } = flags
if (!isEngine(engine)) throw new Error('--engine must be sqlite or postgres')
const postgres = engine === 'postgres' ? await findPostgres() : undefined

const modes = Object.values(MODES).filter(({ name }) => flags.mode === undefined || flags.mode === name)
for (const { name: mode } of modes) {
  const begun = performance.now()
  const place = await makePlace(engine, postgres)
  const report = await fuzz({
    databaseUrl: place.commandUrl,
    mode,
    seed,
    // Rate limits are a small part of it.
    requests: mode === 'limited' && flags.mode === undefined ? Math.ceil(requests / 10) : requests,
    slow: requests >= 50_000 && flags.only === undefined ? 20 : 0,
    connections: flags.only === undefined ? Number(flags.connections) : 1,
    ...(flags.only !== undefined && { only: Number(flags.only) }),
  }).finally(() => place.remove())
  const seconds = Math.round((performance.now() - begun) / 1000)
  for (const failure of report.failures.slice(0, 20)) process.stdout.write(`${failure}\n\n`)
  process.stdout.write(`${engine}, ${seconds} s: ${report.describe()}`)
  if (report.failures.length > 0) process.exitCode = 1
}
