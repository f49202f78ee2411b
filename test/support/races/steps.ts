import { readFileSync } from 'node:fs'
import type { checkFiles } from '../../../src/engines/checking/engine/check-files.ts'
import type { Sealer } from '../../../src/foundation/database/seal.ts'
import type { Job } from '../../../src/foundation/jobs/queue.ts'
import { JobLost } from '../../../src/foundation/jobs/worker.ts'
import { publishResults } from '../../../src/submissions/findings/publish.ts'
import { finishDeletions } from '../../../src/submissions/retention/purge.ts'
import { sweep } from '../../../src/submissions/retention/sweep.ts'
import { Definitions } from '../../../src/submissions/rules/definitions.ts'
import { cancelRunsOf } from '../../../src/submissions/runs/by-organisation.ts'
import { RunJob } from '../../../src/submissions/runs/run-job.ts'
import type { Service } from '../service.ts'
import { sourceOf } from '../source.ts'
import { temporaryFolder } from '../temporary.ts'
import * as model from './model.ts'
import type { RacingDatabase } from './racing-database.ts'

/** A replica of the service, with the database of its process. */
export interface Replica {
  readonly service: Service
  readonly database: RacingDatabase
  readonly sealer: Sealer
}

/** A submission that steps change. */
export interface Subject {
  readonly token: string
  readonly eid: string
  readonly returnId: string
  readonly key: string
  readonly definition: string
  /** The ETag of the file before the race. */
  readonly etag: string | undefined
  /** The state before the race. */
  readonly state: model.State
}

/** A change of a submission, and what the model says of it. */
interface Step {
  readonly atoms: readonly model.Atom[]
  /** Whether it may be refused because another change of the file is in progress. */
  readonly changesFile?: boolean
  /** Whether it may be refused because an upload is still being read. */
  readonly needsFiles?: boolean
  readonly optional?: boolean
  /** Returns the response in the words of the model. */
  run(replica: Replica, subject: Subject): Promise<string | undefined>
}

/** Makes a step; `name` is not used by any other. */
type MakeStep = (subject: Pick<Subject, 'state'>, name: string) => Step

export const DS1 = 'DS1'

/** A name of the column `localId` in another form. */
export const REPAIRABLE = 'LOCAL_ID'

interface ShownRun {
  readonly runId?: number
  readonly status?: string
  readonly errorCount?: number
  readonly current?: boolean
}

interface ShownSubmission {
  readonly submissionToken?: string
  readonly submissionStatus?: string
  readonly files?: readonly { readonly records?: number }[]
  readonly validationRun?: ShownRun
}

function showRun({ runId = 0, status = '', errorCount = 0, current = false }: ShownRun): string {
  const isActive = status === 'Queued' || status === 'InProgress'
  return model.showRun(
    { number: runId, status: isActive ? 'Active' : (status as 'Processed'), errors: errorCount },
    current ? runId : undefined,
  )
}

export function showSubmission({ submissionStatus = '', files, validationRun }: ShownSubmission): string {
  if (submissionStatus === 'Cancelled') return submissionStatus
  const file = files?.[0] === undefined ? 'no file' : `${files[0].records} records`
  return `${submissionStatus}, ${file}, ${validationRun === undefined ? 'no run' : showRun(validationRun)}`
}

/** Sends a request to a replica. */
export async function ask(
  { service }: Replica,
  { eid, key }: Pick<Subject, 'eid' | 'key'>,
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  url: string,
  { headers = {}, payload }: { headers?: Record<string, string>; payload?: string | object } = {},
) {
  return await service.request({
    method,
    url: `/v1/submissions${url}`,
    headers: { 'x-api-key': key, eid, ...headers },
    ...(payload !== undefined && { payload }),
  })
}

type Reply = Awaited<ReturnType<typeof ask>>

/** The status of a response and, if it is successful, what it shows. */
function read<Body>({ statusCode, ...reply }: Reply, show: (body: Body) => string): string {
  const body = reply.json()
  if (statusCode < 300) return `${statusCode} ${show(body as Body)}`
  return body.errorCode === DS1 ? DS1 : String(statusCode)
}

function renderFile(records: ReadonlyMap<string, string>, name: string): string {
  return `${name},id\n${[...records].map(([id, value]) => `${id},${value}\n`).join('')}`
}

interface Sent extends Pick<Step, 'changesFile' | 'needsFiles'> {
  readonly payload?: string | object
  readonly headers?: (subject: Subject) => Record<string, string>
}

/** A request about the submission, and how a successful response is shown. */
const send = <Body>(
  atom: model.Atom,
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  path: string,
  show: (body: Body) => string,
  { payload, headers, ...step }: Sent = {},
): Step => ({
  ...step,
  atoms: [atom],
  run: async (replica, subject) => {
    const sent = { headers: headers?.(subject) ?? {}, ...(payload !== undefined && { payload }) }
    const reply = await ask(replica, subject, method, `/${subject.token}${path}`, sent)
    const { location = '' } = reply.headers
    if (!location.includes('/jobs/')) return read(reply, show)
    // On a slow machine, work outlasts the time for which a request waits.
    for (;;) {
      const job = (await ask(replica, subject, 'GET', location.replace('/v1/submissions', ''))).json()
      if (job.status === 'Processed') return `200 ${show(method === 'PUT' ? job.files[0] : job)}`
      if (job.status !== 'Queued' && job.status !== 'InProgress') return '409'
      await replica.service.files.takeOne()
    }
  },
})

/**
 * An upload of two records.
 *
 * @param column the name of the first one; `REPAIRABLE` has one possible repair
 * @param matches whether it replaces only the file of before the race
 */
const put =
  (value: string, { column = 'localId', matches = false } = {}): MakeStep =>
  ({ state }, name) => {
    const records = new Map([
      ['A', `${value}${name}`],
      ['B', `ok${name}`],
    ])
    const wanted = state.records === undefined ? 'absent' : state.tag
    const atom = model.put(records, name, matches ? wanted : undefined, column !== 'localId')
    return send<{ records: number }>(atom, 'PUT', '/files/people', (file) => String(file.records), {
      changesFile: true,
      payload: renderFile(records, column),
      headers: ({ etag }) => ({
        'content-type': 'text/csv',
        ...(matches && { 'if-match': etag ?? '"absent"' }),
      }),
    })
  }

type Batch = { content: { errors: string[] }[] }
const showBatch = ({ content }: Batch) => (content[0]?.errors.length === 0 ? 'known' : 'unknown')
const add =
  (localId: string, value: string): MakeStep =>
  (_, name) => {
    const id = `${value}${name}`
    const sent = { changesFile: true, payload: { content: [{ localId, id }] } }
    return send<Batch>(model.add(localId, id), 'POST', '/records/people', showBatch, sent)
  }

const showRepaired = ({ files }: { files: object[] }) => String(files.length)

/** Its record waits for other changes; what it shows is tested elsewhere. */
const download: MakeStep = () => ({
  atoms: [],
  async run(replica, subject) {
    await ask(replica, subject, 'GET', `/${subject.token}/files/people`, { headers: { accept: 'text/csv' } })
    return undefined
  },
})

const create: MakeStep = () => ({
  atoms: [model.create],
  run: async (replica, subject) =>
    read<ShownSubmission>(
      await ask(replica, subject, 'POST', '', { payload: { returnId: subject.returnId } }),
      (shown) => (shown.submissionToken === subject.token ? `same, ${showSubmission(shown)}` : 'other'),
    ),
})

/** A check that finds an error in each record that begins with `bad`, without a process of its own. */
const check: typeof checkFiles = async (request) => {
  const { files } = typeof request === 'function' ? await request(temporaryFolder()) : request
  const lines = files.flatMap(({ path }) => readFileSync(path, 'utf8').split('\n'))
  const wrong = lines.filter((line) => new RegExp(`\\b${model.BAD}`).test(line))
  return {
    summary: {
      definition: { name: 'small', version: '1.0.0', title: '', notice: undefined },
      parameters: {},
      files: [],
      codes: [],
      causes: [],
      errors: wrong.length,
      warnings: 0,
      notRun: [],
      undecided: [],
      seconds: 0,
    } as unknown as Awaited<ReturnType<typeof checkFiles>>['summary'],
    path: '',
    async *findings() {
      for (const [index, line] of wrong.entries())
        yield {
          errorCode: 'BAD',
          errorDescription: 'A bad record.',
          errorType: 'Error',
          fileType: 'Learner',
          file: 'people.csv',
          line: index + 1,
          findingKey: line,
        }
    },
    dispose: async () => undefined,
  }
}

const CLAIMED = 'id, kind, subject, eid, attempts, worker'
let claims = 0

const run: MakeStep = () => ({
  atoms: [model.claimRun, model.completeRun],
  async run({ database, sealer }, { token, definition }) {
    const job = await database.write('job:race', (writer) =>
      writer.get<Job>(
        `update job set worker = $2, lease = $3, attempts = attempts + 1
         where kind = 'run' and worker is null and subject in (
           select cast(run as text) from submission_run where token = $1)
         returning ${CLAIMED}`,
        [token, `race ${++claims}`, Date.now() + 60_000],
      ),
    )
    if (job === undefined) return undefined
    const handler = new RunJob({
      database,
      sealer,
      definitions: new Definitions([definition]),
      limits: {},
      check,
    })
    try {
      await handler.run(job, { describe: () => undefined, signal: new AbortController().signal })
    } catch (error) {
      const held = await database.get('select id from job where id = $1', [job.id])
      // A worker finds its job gone if the run was cancelled, at any moment.
      if (!(error instanceof JobLost) && held !== undefined) throw error
    }
    return undefined
  },
})

/** Requests are refused while an organisation is suspended, which would hide all other effects. */
const suspend: MakeStep = () => ({
  atoms: model.SUSPENSION,
  async run({ database }, { eid }) {
    await cancelRunsOf(database, eid)
    return undefined
  },
})

const purge: MakeStep = () => ({
  atoms: [],
  async run({ database }) {
    await finishDeletions(database)
    return undefined
  },
})

const retention: MakeStep = () => ({
  atoms: model.EXPIRY,
  optional: true,
  async run({ database }) {
    await sweep(database, { files: 30, results: 30 })
    return undefined
  },
})

const publish =
  (errors: number): MakeStep =>
  () => ({
    atoms: [model.publish(errors)],
    async run({ database, sealer }, { token, eid, returnId }) {
      const entries = Array.from({ length: errors }, () => ({ errorCode: 'P', errorType: 'Error' }))
      const publication = { token, eid, returnId, sealer }
      return await publishResults(database, sourceOf(entries), publication).then(
        () => 'published',
        () => 'refused',
      )
    },
  })

export const KEY = { id: 'first', key: new Uint8Array(32).fill(1) }

/** Everything that changes a submission, by the operation that callers declare or by what workers and commands do. */
export const STEPS = {
  createSubmission: create,
  putSubmissionFile: put('ok'),
  'putSubmissionFile, faulty': put(model.BAD),
  'putSubmissionFile, If-Match': put('ok', { matches: true }),
  'putSubmissionFile, repairable': put('ok', { column: REPAIRABLE }),
  repairFiles: () => send(model.repair, 'POST', '/repairs', showRepaired, { changesFile: true }),
  undoRepairs: () => send(model.undo, 'DELETE', '/repairs', showRepaired, { changesFile: true }),
  addSubmissionRecords: add('C', 'ok'),
  'addSubmissionRecords, faulty': add('A', model.BAD),
  deleteSubmissionRecords: () =>
    send(model.remove('A'), 'DELETE', '/records/people', showBatch, {
      changesFile: true,
      payload: { content: [{ localId: 'A' }] },
    }),
  getSubmissionFile: download,
  requestValidationRun: () => send(model.request, 'POST', '/validation-runs', showRun, { needsFiles: true }),
  cancelValidationRun: () => send(model.cancelRun(1), 'DELETE', '/validation-runs/1', showRun),
  submitSubmission: () => send(model.submit, 'POST', '/submit', showSubmission, { needsFiles: true }),
  reopenSubmission: () =>
    send(model.reopen, 'POST', '/reopen', showSubmission, { payload: { reason: 'Again' } }),
  deleteSubmission: () => send(model.cancel, 'DELETE', '', showSubmission),
  suspendOrganisation: suspend,
  'job run': run,
  'job purge': purge,
  'job retention': retention,
  'results publish': publish(2),
  'results publish, none': publish(0),
} as const satisfies Record<string, MakeStep>

export type StepName = keyof typeof STEPS
