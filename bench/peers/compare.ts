// The peers over the same records: what each is asked for a page.
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync } from 'node:fs'
import { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { renderCopy } from '../../src/database/postgres-copy.ts'
import { generateOccupations } from '../data.ts'
import { type Contender, startContender } from '../measure.ts'

export interface Peer {
  start(): Promise<Contender>
  /** The address of a page of 20 with the total that begins so many records in, as the peer's documentation shows. */
  page(depth: number): string
}

/** Whether somebody has run `npm install` in this folder. */
export const peersInstalled = existsSync(fileURLToPath(new URL('node_modules', import.meta.url)))

/**
 * Makes the peers' data where it is not there yet.
 *
 * @param address a PostgreSQL in which a database may be made
 * @param folder where the file of json-server is kept
 */
export async function preparePeers(address: string, folder: string, records: number): Promise<Peer[]> {
  const database = await prepareTable(address, records)
  const file = await prepareFile(folder, records)
  // json-server serves the folder `public` beside its data, and will not start without one.
  mkdirSync(`${folder}public`, { recursive: true })
  const start = (name: string, source: string) =>
    startContender(
      name,
      [process.execPath, fileURLToPath(new URL('start.mjs', import.meta.url)), name, source],
      {},
      folder,
    )
  const graphql = (page: string) =>
    `/graphql?query=${encodeURIComponent(`{allOccupations(${page}){totalCount nodes{code document}}}`)}`
  return [
    {
      start: () => start('json-server', file),
      page: (depth) => `/occupations?_page=${depth / 20 + 1}&_per_page=20`,
    },
    {
      start: () => start('json-server-0.17', file),
      // By `_page` it would look at every record for a field of that name.
      page: (depth) => `/occupations?_start=${depth}&_limit=20`,
    },
    {
      start: () => start('platformatic', database),
      page: (depth) => `/occupation/?limit=20&offset=${depth}&totalCount=true&orderby.code=asc`,
    },
    {
      start: () => start('postgraphile', database),
      page: (depth) => graphql(`first:20,offset:${depth},orderBy:CODE_ASC`),
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
  // json, not jsonb: the peers send it a third faster.
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
  const output = createWriteStream(file)
  let separator = '{"occupations":['
  for await (const { value } of generateOccupations(records)) {
    const text = `${separator}${JSON.stringify({ id: (value as Occupation).occupationCode, ...(value as object) })}`
    if (!output.write(text)) await once(output, 'drain')
    separator = ','
  }
  output.end(']}')
  await finished(output)
  return file
}
