import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzip } from '@cj-tech-master/excelts/archive'
import { expect, test } from 'vitest'
import { readWorkbook } from '../../src/engines/records/index.ts'
import { forgetOldJobs } from '../../src/submissions/files/file-job.ts'
import { sweep } from '../../src/submissions/retention/sweep.ts'
import { makeSmallDefinition } from '../support/small-definition.ts'
import { startSubmissions } from '../support/submissions.ts'
import { temporaryFolder } from '../support/temporary.ts'

const PEOPLE = 'localId,id,group,age\n1,A1,G1,20\n2,A2,G9,12\n3,A3,G1 ,12\n'
const GROUPS = 'localId,code,title\n1,G1,One\n'

async function start({ encrypted = false } = {}) {
  const folder = temporaryFolder()
  const { service, createCaller } = await startSubmissions(makeSmallDefinition(), {
    CHECK_FOLDER: folder,
    ...(encrypted && { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` }),
  })
  const caller = await createCaller('reader', ['1001'])
  const token = await caller.create()
  const ask = (method: 'GET' | 'DELETE', path: string, headers = {}) =>
    caller.ask(method, `/submissions/${token}${path}`, undefined, headers)
  const upload = async () => {
    await caller.put(token, 'people', PEOPLE)
    await caller.put(token, 'groups', GROUPS)
  }
  return { service, createCaller, folder, ask, token, upload }
}

/** The files of an archive, by name. */
async function unpack(bytes: Buffer): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for await (const entry of unzip(bytes).entries())
    files[entry.path] = Buffer.from(await entry.bytes()).toString()
  return files
}

test.each([{ encrypted: false }, { encrypted: true }])(
  'the files of a submission come back marked and corrected, and leave nothing behind (encrypted: $encrypted)',
  async ({ encrypted }) => {
    const { folder, ask, upload } = await start({ encrypted })
    await upload()
    const workbook = await ask('GET', '/marked-files')
    expect(workbook.status).toBe(200)
    expect(workbook.headers).toMatchObject({
      'content-type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'content-disposition': 'attachment; filename="marked.xlsx"',
      'cache-control': 'private, no-store',
    })
    const path = join(temporaryFolder(), 'marked.xlsx')
    writeFileSync(path, workbook.bytes)
    const sheets = await readWorkbook(path)
    expect(sheets.map(({ name }) => name)).toEqual(['Summary', 'people', 'groups'])

    const marked = await ask('GET', '/marked-files?format=csv')
    expect(marked.headers['content-type']).toBe('application/zip')
    const accepted = await ask('GET', '/marked-files', { accept: 'application/zip' })
    expect(accepted.bytes.equals(marked.bytes)).toBe(true)
    const workbooks = await ask('GET', '/marked-files?format=xlsx', { accept: 'application/zip' })
    expect(workbooks.status).toBe(406)
    const copies = await unpack(marked.bytes)
    expect(Object.keys(copies).sort()).toEqual(['groups.csv', 'people.csv'])
    expect(copies['people.csv']).toMatch(/A2,G9,12/)
    expect(copies['people.csv']).toMatch(/No record of groups has group/)

    const corrected = await ask('GET', '/corrected-files')
    const fixed = await unpack(corrected.bytes)
    expect(Object.keys(fixed).sort()).toEqual(['groups.csv', 'mahi-changes.csv', 'people.csv'])
    expect(fixed['people.csv']).toBe(PEOPLE.replace('G1 ', 'G1'))
    expect(fixed['mahi-changes.csv']).toMatch(/people\.csv,4,group,G1 ,G1/)

    // The submission is as it was.
    expect((await ask('GET', `/files/people`)).text).toBe(PEOPLE)
    expect(
      readdirSync(folder, { recursive: true }).filter((name) =>
        statSync(join(folder, String(name))).isFile(),
      ),
    ).toEqual([])
  },
)

test('without files, after a cancellation and with an unknown format there is nothing to send', async () => {
  const { ask, upload } = await start()
  const empty = await ask('GET', '/corrected-files')
  expect([empty.status, empty.body.detail]).toEqual([
    404,
    'The submission has no files yet. Upload them first.',
  ])
  await upload()
  expect((await ask('GET', '/marked-files?format=pdf')).status).toBe(400)
  await ask('DELETE', '')
  expect((await ask('GET', '/marked-files')).status).toBe(410)
})

test('what was made is kept until the files change, or nobody has used it for long', async () => {
  const { service, ask, token, upload } = await start()
  await upload()
  const made = async () => {
    const rows = await service.database.all<{ id: string }>(
      `select id from submission_job where work = 'corrected'`,
    )
    return rows.map(({ id }) => id)
  }
  const first = await ask('GET', '/corrected-files')
  await sweep(service.database)
  const again = await ask('GET', '/corrected-files')
  expect(again.bytes.equals(first.bytes)).toBe(true)
  const [id = ''] = await made()
  expect(await made()).toEqual([id])
  const shown = await ask('GET', `/jobs/${id}`)
  expect(shown.body).toMatchObject({ jobId: id, work: 'corrected', status: 'Processed' })
  expect((await ask('GET', '/jobs/unknown')).status).toBe(404)
  await service.database.write('schema', (writer) => writer.run('update submission_job set completed = 1'))
  await forgetOldJobs(service.database)
  expect((await ask('GET', `/jobs/${id}`)).status).toBe(404)
  await ask('GET', '/corrected-files')
  const [other] = await made()
  expect(other).not.toBe(id)
  await upload()
  // Without a worker, the response says where the result will be.
  const later = await ask('GET', '/corrected-files', { prefer: 'respond-async' })
  expect([later.status, later.body.status]).toEqual([202, expect.stringMatching(/Queued|InProgress/)])
  expect(later.headers.location).toBe(`/v1/submissions/${token}/jobs/${later.body.jobId}`)
})

test('a file that is deleted while it is read is a conflict', async () => {
  const { service, ask, token, upload } = await start()
  await upload()
  await service.database.write(`submission:${token}`, (writer) => writer.run('delete from file_chunk'))
  const response = await ask('GET', '/marked-files')
  expect([response.status, response.body]).toEqual([
    409,
    expect.objectContaining({
      detail: 'A file was replaced or deleted while it was read. Try again.',
      errorCode: 'DS1',
    }),
  ])
})

test('other organisations and other scopes get neither', async () => {
  const { createCaller, token, upload } = await start()
  await upload()
  const others = [
    await createCaller('other', ['1002'], ['validation-results:read']),
    await createCaller('writer', ['1001'], ['submissions:write']),
  ]
  for (const path of ['marked-files', 'corrected-files'])
    for (const { ask } of others) expect((await ask('GET', `/submissions/${token}/${path}`)).status).toBe(401)
})
