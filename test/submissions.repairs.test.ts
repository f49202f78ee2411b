import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { revokeKeys } from '../src/api/access/keys.ts'
import { storeSuspension } from '../src/api/access/suspensions.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { assertRepairable } from '../src/submissions/files/do-file-job.ts'
import { FileGone } from '../src/submissions/files/file-store.ts'
import { findCleared } from '../src/submissions/files/repairs.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { define } from './support/definition.ts'
import { startSubmissions } from './support/submissions.ts'

const field = (name: string, type: string, constraints: object = {}) => ({ name, type, constraints })
const defineLoans = () =>
  define(
    {
      members: {
        resource: { 'mahi:fileType': 'Learner', 'mahi:optional': true },
        fields: [
          field('member', 'string', { required: true, maxLength: 4 }),
          field('born', 'date'),
          field('kind', 'string', { enum: ['01', '02', '11', '12'] }),
        ],
        primaryKey: ['member'],
      },
      loans: {
        resource: { 'mahi:fileType': 'Enrolment', 'mahi:optional': true },
        fields: [field('loan', 'string', { required: true }), field('lent', 'date')],
      },
    },
    { 'mahi:return': { default: '202512', pattern: '20[0-9]{4}' } },
  )

const dates = (format: (day: string) => string) =>
  ['13', '14', '15', '16'].map((day, at) => `M${at},${format(day)},11\n`).join('')
/** All dates are day first, so that each has one repair. */
const MEMBERS = `member,born,kind\n${dates((day) => `${day}/01/2001`)}`
const REPAIRED = `member,born,kind\n${dates((day) => `2001-01-${day}`)}`
/** A spreadsheet has turned around the dates that it could read, and left the others: nothing is certain. */
const LOANS = `loan,lent\nL1,17/01/2025\nL2,2025-05-04\nL3,18/02/2025\nL4,2025-06-04\nL5,19/03/2025\nL6,2025-07-04\n`

const KEY = { id: 'k1', key: Buffer.alloc(32, 1) }

const digestOf = (content: string) => createHash('sha256').update(content).digest('hex')

async function start({ encrypted = false } = {}) {
  const { service, createCaller, work } = await startSubmissions(
    defineLoans(),
    encrypted ? { ENCRYPTION_KEYS: `${KEY.id}:${KEY.key.toString('base64')}` } : {},
  )
  const scopes = ['validation-results:read', 'submissions:write', 'operate'] as const
  const { id, key, ...caller } = await createCaller('analyst', ['1001'], scopes)
  const token = await caller.create()
  const ask = (method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, headers = {}) =>
    caller.ask(method, `/submissions/${token}${path}`, undefined, headers)
  /** Without anybody who does the work. */
  const queue = async (method: 'PUT' | 'POST' | 'DELETE' = 'POST', path = '/repairs', payload?: string) => {
    const headers = { 'x-api-key': key, eid: '1001', prefer: 'respond-async' }
    const queued = await service.app.inject({
      method,
      url: `/v1/submissions/${token}${path}`,
      headers: {
        ...headers,
        ...(payload !== undefined && {
          'content-type': payload.startsWith('{') ? 'application/json' : 'text/csv',
        }),
      },
      ...(payload !== undefined && { payload }),
    })
    return { status: queued.statusCode, body: queued.json() }
  }
  const put = async (file: string, content: string) =>
    expect((await caller.put(token, file, content)).status).toBe(200)
  const read = async (file: string) => (await ask('GET', `/files/${file}`, { accept: 'text/csv' })).text
  const check = async () => {
    const worker = await work({ sealer: new Sealer(encrypted ? [KEY] : []) })
    const run = await caller.check(token)
    await worker.stop()
    return run
  }
  const listVersions = async () =>
    (
      await service.database.all<{ resource: string; digest: string }>(
        'select resource, digest from file_version where stored = 1 order by resource, digest',
      )
    ).filter(({ resource }) => resource !== '')
  return { service, id, token, ask, queue, put, read, check, listVersions }
}

test.each([{ encrypted: false }, { encrypted: true }])(
  'a preview says what a repair changes and which causes it clears; the repair does it, and is undone (encrypted: $encrypted)',
  async ({ encrypted }) => {
    const { ask, put, read, check, listVersions, service } = await start({ encrypted })
    expect((await ask('GET', '/repairs')).body.detail).toBe(
      'The submission has no files yet. Upload them first.',
    )
    await put('members', MEMBERS)
    await put('loans', LOANS)
    const unchecked = (await ask('GET', '/repairs')).body
    expect(unchecked).toMatchObject({ changes: 4, undoable: false })
    expect(unchecked).not.toHaveProperty('causes')
    await check()

    const preview = await ask('GET', '/repairs')
    const { causes } = (await ask('GET', '/validation-results/causes')).body as {
      causes: { key: string; field: string }[]
    }
    const [born] = causes.filter(({ field }) => field === 'born').map(({ key }) => key)
    expect(preview.headers.etag).toBe(preview.body.etag)
    expect(preview.body).toMatchObject({
      changes: 4,
      repairs: [
        {
          file: 'members',
          field: 'born',
          records: 4,
          examples: [
            { line: 2, before: '13/01/2001', after: '2001-01-13' },
            { line: 3, before: '14/01/2001', after: '2001-01-14' },
            { line: 4, before: '15/01/2001', after: '2001-01-15' },
          ],
          clears: [born],
        },
      ],
      // Of the column that contradicts itself.
      left: [
        {
          file: 'loans',
          field: 'lent',
          why: 'A spreadsheet has probably turned day and month around in other dates of the column.',
          records: 3,
          examples: [{ line: 2 }],
        },
      ],
      causes: causes.length,
      clears: [born],
      causesLeft: causes.length - 1,
      undoable: false,
    })
    expect(await read('members')).toBe(MEMBERS)

    const done = await ask('POST', '/repairs', { 'if-match': preview.body.etag })
    expect(done.body).toMatchObject({ changes: 4, undoable: true, files: [{ file: 'members', records: 4 }] })
    expect(await read('members')).toBe(REPAIRED)
    // The column that contradicts itself is as it was.
    expect(await read('loans')).toBe(LOANS)
    const activities = async () =>
      ((await ask('GET', '/activity')).body.results as { event: string }[]).filter(({ event }) =>
        /Repair/.test(event),
      )
    expect(await activities()).toMatchObject([
      {
        event: 'FileRepaired',
        actor: { name: 'analyst' },
        file: 'members',
        records: 4,
        changes: 4,
        digestBefore: digestOf(MEMBERS),
        digestAfter: digestOf(REPAIRED),
      },
    ])
    expect((await ask('GET', '')).body.submissionStatus).toBe('Pending')

    // A second repair finds nothing, says so, and leaves the way back.
    const again = await ask('POST', '/repairs')
    expect(again.body).toMatchObject({ changes: 0, repairs: [], files: [], undoable: true })
    expect(await activities()).toHaveLength(1)
    // Also the files before the repair are in use.
    await sweep(service.database)
    expect(await listVersions()).toHaveLength(3)

    const undone = await ask('DELETE', '/repairs')
    expect(undone.body.files).toMatchObject([{ file: 'members', sha256: digestOf(MEMBERS) }])
    expect(await read('members')).toBe(MEMBERS)
    expect((await activities())[0]).toMatchObject({
      event: 'RepairUndone',
      digestBefore: digestOf(REPAIRED),
      digestAfter: digestOf(MEMBERS),
    })
    const twice = await ask('DELETE', '/repairs')
    expect([twice.status, twice.body.detail]).toEqual([
      409,
      'There is no repair to undo: the files were not repaired, or they have changed or were submitted since.',
    ])
    await sweep(service.database)
    expect(await listVersions()).toHaveLength(2)
    // The preview from before is not the state of now, although the files are.
    expect((await ask('POST', '/repairs', { 'if-match': preview.body.etag })).status).toBe(412)
  },
)

test('a repair can be undone until any file changes or the submission is submitted', async () => {
  const { ask, put, check, listVersions, service, read } = await start()
  await put('members', MEMBERS)
  await ask('POST', '/repairs')
  await put('loans', 'loan,lent\nL1,2025-01-02\n')
  expect((await ask('DELETE', '/repairs')).status).toBe(409)
  await sweep(service.database)
  expect(await listVersions()).toHaveLength(2)
  await put('members', MEMBERS)
  await ask('POST', '/repairs')
  await check()
  expect((await ask('POST', '/submit')).body.submissionStatus).toBe('Submitted')
  for (const method of ['POST', 'DELETE'] as const) {
    const refused = await ask(method, '/repairs')
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      'The submission was submitted and can no longer be changed.',
    ])
  }
  await sweep(service.database)
  expect(await listVersions()).toHaveLength(2)
  expect(await read('members')).toBe(REPAIRED)
  await ask('DELETE', '')
  for (const method of ['GET', 'POST', 'DELETE'] as const)
    expect((await ask(method, '/repairs')).status).toBe(410)
})

test('a repair that waits keeps others from overtaking it, and two requests are one repair', async () => {
  const { service, ask, put, queue, read } = await start()
  await put('members', MEMBERS)
  const [one, two] = [await queue(), await queue()]
  expect([one.status, two.status]).toEqual([202, 202])
  expect(one.body.jobId).toBe(two.body.jobId)
  expect(one.body).toMatchObject({ work: 'repair', status: 'Queued' })
  for (const [method, path, payload] of [
    ['POST', '/validation-runs'],
    ['POST', '/submit'],
    ['DELETE', '/repairs'],
    ['POST', '/records/loans', '{"content":[{"localId":"1"}]}'],
  ] as const) {
    const refused = await queue(method, path, payload)
    expect([refused.status, refused.body.detail, refused.body.errorCode]).toEqual([
      409,
      'The files are still being repaired. Wait until that ends.',
      'DS1',
    ])
  }
  await service.files.takeOne()
  const work = await ask('GET', `/jobs/${one.body.jobId}`)
  expect(work.body).toMatchObject({
    work: 'repair',
    status: 'Processed',
    changes: 4,
    files: [{ file: 'members' }],
  })
  expect(await read('members')).toBe(REPAIRED)
})

type Started = Awaited<ReturnType<typeof start>>

const ENDINGS = [
  {
    meanwhile: 'the organisation is suspended',
    change: async ({ service }: Started) =>
      await storeSuspension(service.database, { eid: '1001', reason: '' }),
    status: 'Cancelled',
    left: MEMBERS,
  },
  {
    meanwhile: 'the key is revoked',
    change: async ({ service, id }: Started) => void (await revokeKeys(service.database, [id])),
    status: 'Halted',
    left: MEMBERS,
  },
]

const statusOf = async ({ service }: Started, id: string) =>
  await service.database.get('select status from submission_job where id = $1', [id])

/** The current file, and the one before the last repair. */
const listStored = async ({ service, token }: Started) =>
  await service.database.all(
    `select v.digest, f.previous from submission_file f join file_version v on v.version = f.version
     where f.token = $1`,
    [token],
  )

test.each([
  {
    meanwhile: 'a file is replaced',
    change: async ({ put }: Started) => await put('members', MEMBERS.replace('M0', 'M9')),
    status: 'Halted',
    left: MEMBERS.replace('M0', 'M9'),
  },
  ...ENDINGS,
])('a repair changes nothing if $meanwhile before it ends', async ({ change, status, left }) => {
  const started = await start()
  const { service, put, queue } = started
  await put('members', MEMBERS)
  const { body } = await queue()
  await change(started)
  while (await service.files.takeOne());
  expect(await statusOf(started, body.jobId)).toEqual({ status })
  expect(await listStored(started)).toEqual([{ digest: digestOf(left), previous: null }])
})

test.each(ENDINGS)('an upload replaces nothing if $meanwhile before it has been read', async (ending) => {
  const started = await start()
  const { service, put, queue } = started
  await put('members', MEMBERS)
  const { body } = await queue('PUT', '/files/members', MEMBERS.replace('M0', 'M9'))
  await ending.change(started)
  while (await service.files.takeOne());
  expect(await statusOf(started, body.jobId)).toEqual({ status: ending.status })
  expect(await listStored(started)).toEqual([{ digest: digestOf(MEMBERS), previous: null }])
})

test('a cause of several columns of which one stays does not disappear', () => {
  const several = { key: 'several', codes: ['A-1', 'A-2', 'A-3'] }
  const dates = { key: 'dates', codes: ['A-4'] }
  const other = { key: 'other', codes: ['A-2'] }
  expect(findCleared([several, dates], [])).toEqual([several, dates])
  expect(findCleared([several, dates], [{ key: 'one', codes: ['A-2'] }])).toEqual([dates])
  // A cause that was there before is another one.
  expect(findCleared([several, other], [other])).toEqual([several])
})

test('files that change while they are repaired are not replaced', async () => {
  const [job, now] = [{ revision: 1 }, { revision: 2 }]
  await expect(assertRepairable({} as never, job as never, now as never)).rejects.toThrow(FileGone)
})
