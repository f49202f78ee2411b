// The peers over the same records, one after the other: the first page with the total, and a page far in.
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

/** Records: a little more than PEER_DEPTH. */
export const PEER_RECORDS = 110_000
export const PEER_DEPTH = 100_000
const DATABASE = 'mahi_bench_peers'

export interface Peer {
  readonly contender: Contender
  /** The first page of 20 with the total. */
  readonly first: string
  /** The page of 20 that begins DEPTH records in, in the way that the peer's documentation shows. */
  readonly deep: string
}

/** Whether somebody has run `npm install` in this folder. */
export const peersInstalled = existsSync(fileURLToPath(new URL('node_modules', import.meta.url)))

/**
 * Makes the peers' data where it is not there yet, and starts them.
 *
 * @param address a PostgreSQL in which a database may be made
 * @param folder where the file of json-server is kept
 */
export async function startPeers(address: string, folder: string): Promise<Peer[]> {
  const database = await prepareTable(address)
  const file = await prepareFile(folder)
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
      contender: await start('json-server', file),
      first: '/occupations?_page=1&_per_page=20',
      deep: `/occupations?_page=${PEER_DEPTH / 20 + 1}&_per_page=20`,
    },
    {
      contender: await start('platformatic', database),
      first: '/occupation/?limit=20&offset=0&totalCount=true&orderby.code=asc',
      deep: `/occupation/?limit=20&offset=${PEER_DEPTH}&totalCount=true&orderby.code=asc`,
    },
    {
      contender: await start('postgraphile', database),
      first: graphql('first:20,orderBy:CODE_ASC'),
      deep: graphql(`first:20,offset:${PEER_DEPTH},orderBy:CODE_ASC`),
    },
  ]
}

async function prepareTable(address: string): Promise<string> {
  const url = new URL(address)
  url.pathname = `/${DATABASE}`
  const admin = new pg.Client({ connectionString: address })
  await admin.connect()
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [DATABASE])
  if (rowCount === 0) await admin.query(`create database ${DATABASE}`)
  await admin.end()

  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  // json, not jsonb: the peers send it a third faster.
  await client.query(
    'create table if not exists occupation (code text primary key, updated timestamptz not null, document json not null)',
  )
  const { rows } = await client.query<{ count: string }>('select count(*) as count from occupation')
  if (Number(rows[0]?.count) !== PEER_RECORDS) {
    await client.query('truncate occupation')
    await pipeline(
      Readable.from(renderCopy(tableRows())),
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

async function* tableRows(): AsyncGenerator<readonly string[]> {
  for await (const { value } of generateOccupations(PEER_RECORDS)) {
    const record = value as Occupation
    yield [record.occupationCode, record.lastUpdatedDate, JSON.stringify(record)]
  }
}

async function prepareFile(folder: string): Promise<string> {
  const file = `${folder}peers-${PEER_RECORDS}.json`
  if (existsSync(file)) return file
  const output = createWriteStream(file)
  let separator = '{"occupations":['
  for await (const { value } of generateOccupations(PEER_RECORDS)) {
    const text = `${separator}${JSON.stringify({ id: (value as Occupation).occupationCode, ...(value as object) })}`
    if (!output.write(text)) await once(output, 'drain')
    separator = ','
  }
  output.end(']}')
  await finished(output)
  return file
}
