/** Sends hostile requests to a service: `node tools/fuzz/run.ts [--requests 100000] [--seed N] [--engine postgres]`. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { isEngine, makePlace } from '../../bench/empty-database.ts'
import { findPostgres } from '../../test/support/find-postgres.ts'
import { fuzz } from './fuzz.ts'

const { values: flags } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    /** The same seed makes the same requests. */
    seed: { type: 'string' },
    engine: { type: 'string', default: 'sqlite' },
    /** The number of the one case to try. */
    only: { type: 'string' },
  },
})
const seed = flags.seed === undefined ? randomInt(2 ** 32) : Number(flags.seed)
const { engine } = flags
if (!isEngine(engine)) throw new Error('--engine must be sqlite or postgres')
const postgres = engine === 'postgres' ? await findPostgres() : undefined

const place = await makePlace(engine, postgres)
const only = flags.only === undefined ? {} : { only: Number(flags.only) }
const options = { place, seed, requests: Number(flags.requests), ...only }
const { responses, failures } = await fuzz(options).finally(() => place.remove())
for (const failure of failures.slice(0, 20)) process.stdout.write(`${failure}\n\n`)
const statuses = [...responses].sort(([one], [other]) => one - other).map((each) => each.join(': '))
process.stdout.write(`${engine}, seed ${seed}: ${failures.length} faults; ${statuses.join(', ')}\n`)
if (failures.length > 0) process.exitCode = 1
