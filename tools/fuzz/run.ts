import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
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

/** Runs with the address of an empty database, which is gone afterwards. */
async function withEmptyDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  if (flags.engine === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'mahi-fuzz-'))
    try {
      return await work(`sqlite:${join(folder, 'fuzz.db')}`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const server = await findPostgres()
  if (server === undefined) throw new Error('no PostgreSQL on 127.0.0.1:5432 and none in TEST_DATABASE_URL')
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  const schema = `mahi_fuzz_${process.pid}`
  await client.query(`create schema ${schema}`)
  try {
    const url = new URL(server)
    url.searchParams.set('options', `-c search_path=${schema}`)
    return await work(url.toString().replaceAll('+', '%20'))
  } finally {
    await client.query(`set client_min_messages = error; drop schema ${schema} cascade`)
    await client.end()
  }
}

const modes = Object.values(MODES).filter(({ name }) => flags.mode === undefined || flags.mode === name)
for (const { name: mode } of modes) {
  const begun = performance.now()
  const report = await withEmptyDatabase((databaseUrl) =>
    fuzz({
      databaseUrl,
      mode,
      seed,
      // Rate limits are a small part of it.
      requests: mode === 'limited' && flags.mode === undefined ? Math.ceil(requests / 10) : requests,
      slow: requests >= 50_000 && flags.only === undefined ? 20 : 0,
      connections: flags.only === undefined ? Number(flags.connections) : 1,
      ...(flags.only !== undefined && { only: Number(flags.only) }),
    }),
  )
  const seconds = Math.round((performance.now() - begun) / 1000)
  for (const failure of report.failures.slice(0, 20)) process.stdout.write(`${failure}\n\n`)
  process.stdout.write(`${flags.engine}, ${seconds} s: ${report.describe()}`)
  if (report.failures.length > 0) process.exitCode = 1
}
