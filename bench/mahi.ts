import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { createKey } from '../src/api/access/keys.ts'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { SourceRecord } from '../src/engines/records/source-record.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import type { Run } from './compare.ts'
import { FIRST_DATE, generateFindings, generateOccupations, LAST_DATE } from './data.ts'
import { type Contender, startContender } from './measure.ts'

export const EID = '1001'
export const TOKEN = 'bench-submission'
export const PAGE = '/v1/occupations?Limit=20'

export const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Starts a program of `contenders/`, beside which Mahi is measured. */
export function startProgram(name: string, file: string, ...rest: string[]): Promise<Contender> {
  return startContender(name, [process.execPath, script(`contenders/${file}`), ...rest])
}

/** No request of a benchmark is turned away, and each is counted all the same. */
export const ENVIRONMENT = {
  PORT: '0',
  METRICS_PORT: '0',
  LOG_LEVEL: 'info',
  RATE_LIMIT_OCCUPATIONS: '100000000/60',
  RATE_LIMIT_RESULTS: '100000000/60',
  RATE_LIMIT_ORGANISATION: '100000000/60',
  RATE_LIMIT_FAILED_CREDENTIALS: '100000000/60',
}

/** The command in this checkout. */
export const MAHI = script('../bin/mahi.js')

/** Builds the package that is measured: from its sources, Mahi starts later and takes 40 MB more. */
export function buildMahi(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
}

/** Mahi as it ships, with everything on. Call `buildMahi` first. */
export function startMahi(
  url: string,
  label: string,
  environment: Record<string, string> = {},
  nodeOptions: readonly string[] = [],
): Promise<Contender> {
  const command = [process.execPath, ...nodeOptions, script('../dist/src/start.js'), 'serve']
  return startContender(label, command, { ...ENVIRONMENT, DATABASE_URL: url, ...environment })
}

/** A database with so many generated records and findings, made once and kept, and a key for it. */
export async function prepareDatabase(
  url: string,
  { records, findings = 0 }: { records: number; findings?: number },
  source: () => AsyncIterable<SourceRecord> = () => generateOccupations(records),
): Promise<{ key: string }> {
  const database = await openDatabase(url)
  try {
    const kept = await database.get<{ total: number }>('select max(total) as total from occupation_filter')
    if (kept?.total !== records) {
      process.stdout.write(`making ${records.toLocaleString('en')} records\n`)
      await importOccupations(database, source(), { replace: true, keepDates: true })
    }
    const submission = await database.get<{ total: number }>(
      'select total from submission where token = $1',
      [TOKEN],
    )
    if (findings > 0 && submission?.total !== findings) {
      process.stdout.write(`making ${findings.toLocaleString('en')} findings\n`)
      const publication = { eid: EID, returnId: 'bench', token: TOKEN }
      await publishResults(database, generateFindings(findings), publication)
    }
  } finally {
    await database.close()
  }
  return await makeKey(url)
}

/** Imports a release of O*NET with its wages. */
export async function importOnet(url: string, { folder, wages }: NonNullable<Run['onet']>): Promise<void> {
  const command = [MAHI, 'occupations', 'import-onet', folder, '--wages', wages]
  await promisify(execFile)(process.execPath, command, { env: { ...process.env, DATABASE_URL: url } })
}

/** A key for everything in a database. */
export async function makeKey(url: string): Promise<{ key: string }> {
  const database = await openDatabase(url)
  try {
    return await createKey(database, { client: 'bench', eids: [EID], expires: Date.now() + 86_400_000 })
  } finally {
    await database.close()
  }
}

/** The address of a schema of its own in a PostgreSQL. */
export async function prepareSchema(address: string, schema: string): Promise<string> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  await client.query(`create schema if not exists ${schema}`)
  await client.end()
  return `${address}${address.includes('?') ? '&' : '?'}options=-c%20search_path%3D${schema}`
}

/** @throws {Error} unless the answer is a 200 */
export async function fetchPage(
  contender: Contender,
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await fetch(contender.url + path, { headers })
  if (response.status !== 200) throw new Error(`${path} answers ${response.status}: ${await response.text()}`)
  return response
}

/** Places in a generated catalogue: codes rise with the records, and dates are spread evenly over five years. */
export const codeOf = (record: number) => `O${String(record).padStart(7, '0')}`
const middleOf = (records: number) => codeOf(Math.floor(records / 2))
const lastOf = (records: number) => codeOf(records - 20)
const dateAt = (part: number) => new Date(FIRST_DATE + part * (LAST_DATE - FIRST_DATE)).toISOString()
const windowOf = (part: number) =>
  `Filter.LastUpdatedAfter=${dateAt(0.4)}&Filter.LastUpdatedBefore=${dateAt(0.4 + part)}`

/** Pages to ask for, by what is hard about them. */
export function pagesOf(records: number): [string, string][] {
  const middle = `Cursor=${middleOf(records)}`
  return [
    ['first', PAGE],
    ['middle', `${PAGE}&${middle}`],
    ['last', `${PAGE}&Cursor=${lastOf(records)}`],
    ['one major group', `${PAGE}&Filter.MajorGroupCode=3&${middle}`],
    ['one minor group', `${PAGE}&Filter.MinorGroupCode=133&${middle}`],
    ['both groups', `${PAGE}&Filter.MajorGroupCode=3&Filter.MinorGroupCode=133&${middle}`],
    ['window of 0.01 %', `${PAGE}&${windowOf(0.0001)}`],
    ['window of 5 %', `${PAGE}&${windowOf(0.05)}&${middle}`],
    ['window of 50 %', `${PAGE}&${windowOf(0.5)}&${middle}`],
    ['group and window of 5 %', `${PAGE}&Filter.MajorGroupCode=3&${windowOf(0.05)}&${middle}`],
  ]
}
