import { createReadStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey, findValidKey, idOf } from './api/access/keys.ts'
import { SCOPES } from './api/access/principal.ts'
import { importOccupations } from './catalogue/import/import.ts'
import { OCCUPATION_COLUMNS } from './catalogue/records/record-schema.ts'
import { countOccupations } from './catalogue/records/rows.ts'
import { buildWaitingIndex } from './catalogue/search/index-job.ts'
import { LINK_LIFETIME, Sessions } from './console/sessions.ts'
import { Containers, EXPORTED_SAMPLE, selectFiles } from './engines/checking/index.ts'
import { readRecords } from './engines/records/index.ts'
import type { Database } from './foundation/database/database.ts'
import { OtherTables } from './foundation/database/migrate.ts'
import { openDatabase } from './foundation/database/open.ts'
import { Sealer } from './foundation/database/seal.ts'
import { Lifecycle } from './foundation/lifecycle.ts'
import { locateSample } from './foundation/package/samples.ts'
import { findFileJob } from './submissions/files/file-job.ts'
import { receiveUpload } from './submissions/files/upload.ts'
import { Definitions } from './submissions/rules/definitions.ts'
import { requestRun } from './submissions/runs/validation.ts'
import { readRun } from './submissions/submission/runs.ts'
import { createSubmission, findState } from './submissions/submission/submission.ts'
import { startSubmissionWorker } from './submissions/worker.ts'

/** Where the demo keeps what it needs; its database is apart from the one that `serve` uses. */
export const DEMO_DATABASE_URL = 'sqlite:var/demo.db'
const KEY_FILE = 'var/demo-key'

const DEMO_EID = '9999'
const DEMO_RETURN = '202512'
const DEMO_TOKEN = 'sample-submission'
/** What the invented amounts of the samples are. */
const DEMO_PAY_BASIS = 'NZD 2025, invented'

/** The states of a submission whose files can no longer change. */
const ENDED: ReadonlySet<string> = new Set(['Submitted', 'Cancelled', 'Closed'])

const YEAR = 365 * 24 * 60 * 60 * 1000

/** What a newcomer needs to ask the demo its first questions. */
export interface Demo {
  readonly key: string
  readonly eid: string
  readonly token: string
  /** Whether it was submitted or deleted, or has expired, so that its files cannot change. */
  readonly isEnded: boolean
}

/**
 * Loads and indexes the samples where the demo's database is empty, and finds or makes its key. Unlike every other key this one
 * is kept as it is, in a file that only its owner can read, so that a second start can show it again.
 *
 * @param indexMemory bytes of memory in which the search index is built
 */
export async function prepareDemo(indexMemory: number): Promise<Demo> {
  const lifecycle = new Lifecycle()
  const database = lifecycle.own(await openDemo(), (opened) => opened.close())
  try {
    if ((await countOccupations(database)) === 0) {
      const occupations = readRecords([locateSample('occupations.ndjson')], { columns: OCCUPATION_COLUMNS })
      await importOccupations(database, occupations, { payBasis: DEMO_PAY_BASIS })
    }
    const options = { database, databaseUrl: DEMO_DATABASE_URL, memoryBytes: indexMemory }
    await buildWaitingIndex(options, () => undefined)
    const sample = await findState(database, { token: DEMO_TOKEN, eid: DEMO_EID })
    const isEnded = sample !== undefined && ENDED.has(sample.status)
    // An earlier start may have been interrupted before it had checked them.
    if (!isEnded && sample?.lastRun === undefined) await uploadSample(database, lifecycle)
    return { key: await findKey(database), eid: DEMO_EID, token: DEMO_TOKEN, isEnded }
  } finally {
    await lifecycle.end()
  }
}

async function openDemo(): Promise<Database> {
  try {
    return await openDatabase(DEMO_DATABASE_URL)
  } catch (error) {
    if (!(error instanceof OtherTables)) throw error
    throw new OtherTables(error.migrations, 'delete var/demo.db and var/demo-key to begin a new demo')
  }
}

/** A link that opens the sample submission in the console, signed in with the demo's key; it works once. */
export async function createDemoLink(
  { key, token }: Demo,
  { database, url }: { readonly database: Database; readonly url: string },
): Promise<string> {
  return `${url}/console/link/${await new Sessions(database).createLink(idOf(key))}?to=/console/submissions/${token}`
}

/** The sample files, as curl names several at once. */
const FILES = 'learners,courses,enrolments,course-completions'

/** A link and three commands that can be pasted as they are. */
export function describeDemo({ key, eid, token, isEnded }: Demo, url: string, consoleLink: string): string {
  const upload = `curl -H "X-API-Key: ${key}" -H "EID: ${eid}" -H "Content-Type: text/csv" -T "${EXPORTED_SAMPLE}{${FILES}}.csv" "${url}/v1/submissions/${token}/files/"`
  return `
Mahi is listening on ${url}, with a sample catalogue and a sample submission.

See in the console what ${isEnded ? 'became of' : 'to fix in'} the sample submission. The link signs in, works once, and only
for ${LINK_LIFETIME / 60_000} minutes; "npm start" prints a new one:

  ${consoleLink}

Or try the API:

  curl -H "X-API-Key: ${key}" "${url}/v1/occupations?Limit=2"

  curl -H "X-API-Key: ${key}" -H "EID: ${eid}" "${url}/v1/submissions/${token}/validation-results?pageSize=5"

${
  isEnded
    ? 'To begin with a new sample submission, stop, and delete var/demo.db and var/demo-key.'
    : `Upload the sample files, as a spreadsheet program left them, and check them in the console:\n\n  ${upload}`
}

The API reference, where every operation can be tried, is at ${url}/docs.
Stop with Ctrl+C. The data stays in var/.
`
}

/** Uploads the sample files and has them validated: what is found comes from the engine, as for any others. */
async function uploadSample(database: Database, lifecycle: Lifecycle): Promise<void> {
  const definitions = new Definitions(['sdr'])
  const sealer = new Sealer()
  const { submission } = await createSubmission(database, {
    eid: DEMO_EID,
    returnId: DEMO_RETURN,
    definition: 'sdr',
    token: DEMO_TOKEN,
  })
  const { token, eid } = submission
  const worker = await startSubmissionWorker({
    database,
    sealer,
    definitions,
    runs: 1,
    limits: {},
    maxBytes: MAX_SAMPLE_BYTES,
    retention: { files: 'off', results: 'off' },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  })
  lifecycle.own(worker, ({ stop }) => stop())
  const { files } = await selectFiles(new Containers(), [EXPORTED_SAMPLE], definitions.get('sdr'))
  for (const file of files) {
    const content = createReadStream(file.path) as AsyncIterable<Buffer>
    const { resource } = file
    const sent = { format: 'csv', gzip: false, isContainer: false } as const
    const id = await receiveUpload(database, sealer, { token, eid, resource, content, ...sent })
    while ((await findFileJob(database, sealer, id))?.completed === null) await sleep(20)
  }
  const { run } = await requestRun(database, { token, eid })
  while ((await readRun(database, run.run))?.completed === null) await sleep(50)
}

const MAX_SAMPLE_BYTES = 10_000_000

async function findKey(database: Database): Promise<string> {
  if (existsSync(KEY_FILE)) {
    const key = readFileSync(KEY_FILE, 'utf8').trim()
    if ((await findValidKey(database, idOf(key), Date.now())) !== undefined) return key
  }
  const { key } = await createKey(database, {
    client: 'demo',
    scopes: SCOPES,
    eids: [DEMO_EID],
    expires: Date.now() + YEAR,
  })
  writeFileSync(KEY_FILE, `${key}\n`, { mode: 0o600 })
  return key
}
