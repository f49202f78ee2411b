// The peers over the same records: what each is asked for a page.
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs'
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

/** Whether somebody has run `npm install` in this folder, or in one of its own that a peer has. */
export const isInstalled = (folder = '') => existsSync(here(`${folder}node_modules`))

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
    startContender(name, [process.execPath, here('start.mjs'), name, source], {}, folder)
  const graphql = (page: string) => `{allOccupations(${page}){totalCount nodes{code document}}}`
  const get = (page: (depth: number) => string) => (depth: number) => ({ path: page(depth) })
  const peers: Peer[] = [
    {
      start: () => start('json-server', file),
      page: get((depth) => `/occupations?_page=${depth / 20 + 1}&_per_page=20`),
    },
    {
      start: () => start('json-server-0.17', file),
      // By `_page` it would look at every record for a field of that name.
      page: get((depth) => `/occupations?_start=${depth}&_limit=20`),
    },
    {
      start: () => start('platformatic', database),
      page: get((depth) => `/occupation/?limit=20&offset=${depth}&totalCount=true&orderby.code=asc`),
    },
    {
      start: () => start('postgraphile', database),
      page: get(
        (depth) =>
          `/graphql?query=${encodeURIComponent(graphql(`first:20,offset:${depth},orderBy:CODE_ASC`))}`,
      ),
    },
  ]
  if (isInstalled('postgraphile-4/')) {
    peers.push({
      start: () =>
        startContender('postgraphile-4', [process.execPath, here('postgraphile-4/start.mjs'), database]),
      // It takes no query by GET.
      page: (depth) => ({
        path: '/graphql',
        script: here('../contenders/post.lua'),
        arguments: [JSON.stringify({ query: graphql(`first:20,offset:${depth},orderBy:CODE_ASC`) })],
      }),
    })
  }
  if (isInstalled('directus/')) {
    const own = await createDatabase(address, `mahi_bench_directus_${records}`, nameDatabase(records))
    peers.push({
      // Its own Node: it needs a module that is built for that.
      start: () =>
        startContender('directus', [
          here('directus/node_modules/.bin/node'),
          here('directus/start.mjs'),
          own,
        ]),
      page: (depth) => ({
        path: `/items/occupation?limit=20&offset=${depth}&sort=code&fields=code,document&meta=total_count`,
        headers: { Authorization: 'Bearer token-of-the-benchmark' },
      }),
    })
  }
  if (isInstalled('strapi/')) {
    const own = await createDatabase(address, `mahi_bench_strapi_${records}`)
    peers.push({
      async start() {
        const peer = await startContender('strapi', [process.execPath, here('strapi/start.mjs'), own])
        await fillStrapi(own, records)
        return peer
      },
      page: get(
        (depth) =>
          `/api/occupations?pagination[start]=${depth}&pagination[limit]=20&sort=code&fields[0]=code&fields[1]=document`,
      ),
    })
  }
  return peers
}

const nameDatabase = (records: number) => `mahi_bench_peers_${records}`

/** Answers the address of a database, which is made where there is none, as a copy of another one if one is named. */
async function createDatabase(address: string, name: string, copyOf?: string): Promise<string> {
  const url = new URL(address)
  url.pathname = `/${name}`
  const admin = new pg.Client({ connectionString: address })
  await admin.connect()
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [name])
  if (rowCount === 0)
    await admin.query(`create database ${name}${copyOf === undefined ? '' : ` template ${copyOf}`}`)
  await admin.end()
  return url.href
}

/** Fills the table that Strapi has made, and makes the index of its codes: its own `unique` makes none. */
async function fillStrapi(url: string, records: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  if (await fillTable(client, 'occupations', records)) {
    await client.query(
      `update occupations set document_id = 'd' || code, created_at = updated, updated_at = updated, published_at = updated`,
    )
    await client.query('create unique index if not exists occupations_code on occupations (code)')
    await client.query('vacuum full analyze occupations')
  }
  await client.end()
}

async function prepareTable(address: string, records: number): Promise<string> {
  const url = await createDatabase(address, nameDatabase(records))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  // json, not jsonb: the peers send it a third faster.
  await client.query(
    'create table if not exists occupation (code text primary key, updated timestamptz not null, document json not null)',
  )
  if (await fillTable(client, 'occupation', records)) await client.query('vacuum analyze occupation')
  await client.end()
  return url
}

/** Answers whether there was anything to do: a table with so many records stays as it is. */
async function fillTable(client: pg.Client, table: string, records: number): Promise<boolean> {
  const { rows } = await client.query<{ count: string }>(`select count(*) as count from ${table}`)
  if (Number(rows[0]?.count) === records) return false
  await client.query(`truncate ${table}`)
  await pipeline(
    Readable.from(renderCopy(tableRows(records))),
    client.query(copyFrom(`copy ${table} (code, updated, document) from stdin`)),
  )
  return true
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
