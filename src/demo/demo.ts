import { createReadStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey, idOf, KeyVerifier } from '../access/keys.ts'
import { isRefused, SCOPES } from '../access/principal.ts'
import { FAULTY_SAMPLE } from '../checks/sample.ts'
import { selectFiles } from '../checks/select-files.ts'
import { Sessions } from '../console/sessions.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { Sealer } from '../database/seal.ts'
import { readRecords } from '../input/read-records.ts'
import { importOccupations } from '../occupations/import.ts'
import { OCCUPATION_COLUMNS } from '../occupations/record-schema.ts'
import { locateSample } from '../package/samples.ts'
import { Definitions } from '../submissions/definitions.ts'
import { createSubmission } from '../submissions/submission.ts'
import { storeFile } from '../submissions/upload.ts'
import { requestRun } from '../submissions/validation.ts'
import { startSubmissionWorker } from '../submissions/worker.ts'
import { readRun } from '../validation-results/runs.ts'

/** Where the demo keeps what it needs; its database is apart from the one that `serve` uses. */
export const DEMO_DATABASE_URL = 'sqlite:var/demo.db'
const KEY_FILE = 'var/demo-key'

export const DEMO_EID = '9999'
const DEMO_RETURN = '202512'
const DEMO_TOKEN = 'sample-submission'

const YEAR = 365 * 24 * 60 * 60 * 1000

/** What a newcomer needs to ask the demo its first questions. */
export interface Demo {
  readonly key: string
  readonly eid: string
  readonly token: string
}

/**
 * Loads the samples where the demo's database is empty, and finds or makes its key. Unlike every other key this one
 * is kept as it is, in a file that only its owner can read, so that a second start can show it again.
 */
export async function prepareDemo(): Promise<Demo> {
  const database = await openDatabase(DEMO_DATABASE_URL)
  try {
    const catalogue = await database.get<{ total: number }>(
      'select max(total) as total from occupation_filter',
    )
    if (catalogue?.total === 0) {
      const occupations = readRecords([locateSample('occupations.ndjson')], { columns: OCCUPATION_COLUMNS })
      await importOccupations(database, occupations)
    }
    const submission = await database.get('select token from submission where token = $1', [DEMO_TOKEN])
    if (submission === undefined) {
      await uploadSample(database)
    }
    return { key: await findKey(database), eid: DEMO_EID, token: DEMO_TOKEN }
  } finally {
    await database.close()
  }
}

/** A link that opens the console, signed in with the demo's key; it works once. */
export async function createDemoLink(
  { key }: Demo,
  { database, url }: { readonly database: Database; readonly url: string },
): Promise<string> {
  return `${url}/console/link/${await new Sessions(database).createLink(idOf(key))}`
}

/** The sample files, as curl names several at once. */
const FILES = 'learners,courses,enrolments,course-completions,qualification-completions'

/** A link and three commands that can be pasted as they are. */
export function describeDemo({ key, eid, token }: Demo, url: string, consoleLink: string): string {
  return `
Mahi is listening on ${url}, with a sample catalogue and a sample submission.

Open the console, signed in (the link works once; "npm start" prints a new one):

  ${consoleLink}

Or try the API:

  curl -H "X-API-Key: ${key}" "${url}/v1/occupations?Limit=2"

  curl -H "X-API-Key: ${key}" -H "EID: ${eid}" "${url}/v1/submissions/${token}/validation-results?pageSize=5"

Upload the sample files, which have faults of every kind, and the console checks them:

  curl -H "X-API-Key: ${key}" -H "EID: ${eid}" -H "Content-Type: text/csv" -T "${FAULTY_SAMPLE}{${FILES}}.csv" "${url}/v1/submissions/${token}/files/"

The API reference, where every operation can be tried, is at ${url}/docs.
Stop with Ctrl+C. The data stays in var/.
`
}

/** Uploads the sample files with faults and has them validated: what is found comes from the engine, as for any others. */
async function uploadSample(database: Database): Promise<void> {
  const definitions = new Definitions(['sdr'])
  const sealer = new Sealer()
  const { submission } = await createSubmission(database, {
    eid: DEMO_EID,
    returnId: DEMO_RETURN,
    definition: 'sdr',
    life: YEAR,
    token: DEMO_TOKEN,
  })
  const { token, eid } = submission
  const { files } = selectFiles([FAULTY_SAMPLE], definitions.get('sdr'))
  for (const file of files) {
    if (!('path' in file)) continue
    const content = createReadStream(file.path) as AsyncIterable<Buffer>
    const { resource } = file
    await storeFile(database, sealer, {
      token,
      eid,
      resource,
      format: 'csv',
      gzip: false,
      content,
      maxBytes: MAX_SAMPLE_BYTES,
    })
  }
  const { run } = await requestRun(database, { token, eid, maxWaiting: 10 })
  const worker = await startSubmissionWorker({
    database,
    sealer,
    definitions,
    runs: 1,
    keep: 10,
    limits: {},
    retention: { files: 'off', results: 'off' },
    log: { warn: () => undefined, error: () => undefined },
  })
  try {
    while ((await readRun(database, run.run))?.completed === null) await sleep(50)
  } finally {
    await worker.stop()
  }
}

const MAX_SAMPLE_BYTES = 10_000_000

async function findKey(database: Database): Promise<string> {
  if (existsSync(KEY_FILE)) {
    const key = readFileSync(KEY_FILE, 'utf8').trim()
    if (!isRefused(await new KeyVerifier(database).verify(key))) return key
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
