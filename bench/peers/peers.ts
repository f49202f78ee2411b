// The peers over the same records: what each is asked for a page.
import { once } from 'node:events'
import { createWriteStream, existsSync, renameSync } from 'node:fs'
import { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { renderCopy } from '../../src/foundation/database/postgres-copy.ts'
import type { Entry } from '../compare.ts'
import { generateOccupations } from '../data.ts'
import { type Contender, startContender } from '../measure.ts'

export interface Peer {
  start(): Promise<Contender>
  /** Asks for a page of 20 with the total that begins so many records in, as the peer's documentation shows. */
  page(depth: number): Entry['load']
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Whether `npm install` has been run in this folder. */
export const isInstalled = () => existsSync(here('node_modules'))

/**
 * Makes the peers' data where it does not exist yet.
 *
 * @param address a PostgreSQL in which a database may be made
 * @param folder where the file of json-server is kept
 */
export async function preparePeers(address: string, folder: string, records: number): Promise<Peer[]> {
  const database = await prepareTable(address, records)
  const file = await prepareFile(folder, records)
  const start = (name: string, source: string) =>
    startContender(name, [process.execPath, here('start.mjs'), name, source], {}, folder)
  return [
    {
      start: () => start('json-server-0.17', file),
      // With `_page` it would look at every record for a field of that name.
      page: (depth) => ({ path: `/occupations?_start=${depth}&_limit=20` }),
    },
    {
      start: () => start('platformatic', database),
      page: (depth) => ({
        path: `/occupation/?limit=20&offset=${depth}&totalCount=true&orderby.code=asc`,
      }),
    },
  ]
}

async function prepareTable(address: string, records: number): Promise<string> {
  const name = `mahi_bench_peers_${records}`
  const url = new URL(address)
  url.pathname = `/${name}`
  const admin = new pg.Client({ connectionString: address })
  await admin.connect()
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [name])
  if (rowCount === 0) await admin.query(`create database ${name}`)
  await admin.end()
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  // json, not jsonb: the peer sends it a third faster.
  await client.query(
    'create table if not exists occupation (code text primary key, updated timestamptz not null, document json not null)',
  )
  const { rows } = await client.query<{ count: string }>('select count(*) as count from occupation')
  if (Number(rows[0]?.count) !== records) {
    await client.query('truncate occupation')
    await pipeline(
      Readable.from(renderCopy(tableRows(records))),
      client.query(copyFrom('copy occupation (code, updated, document) from stdin')),
    )
    await client.query('vacuum analyze occupation')
  }
  await client.end()
  return url.href
}

interface Occupation {
  readonly occupationCode: string
  readonly lastUpdatedDate: string
}

async function* tableRows(records: number): AsyncGenerator<readonly string[]> {
  for await (const { value } of generateOccupations(records)) {
    const record = value as Occupation
    yield [record.occupationCode, record.lastUpdatedDate, JSON.stringify(record)]
  }
}

async function prepareFile(folder: string, records: number): Promise<string> {
  const file = `${folder}peers-${records}.json`
  if (existsSync(file)) return file
  const unfinished = `${file}.part`
  const output = createWriteStream(unfinished)
  let separator = '{"occupations":['
  for await (const { value } of generateOccupations(records)) {
    const text = `${separator}${JSON.stringify({ id: (value as Occupation).occupationCode, ...(value as object) })}`
    if (!output.write(text)) await once(output, 'drain')
    separator = ','
  }
  output.end(']}')
  await finished(output)
  renameSync(unfinished, file)
  return file
}
