import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzip } from '@cj-tech-master/excelts/archive'
import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import { readWorkbook } from '../../src/engines/records/index.ts'
import { forgetOldJobs } from '../../src/submissions/files/file-job.ts'
import { Service } from '../support/service.ts'
import { makeSmallDefinition } from '../support/small-definition.ts'
import { temporaryFolder } from '../support/temporary.ts'

const PEOPLE = 'localId,id,group,age\n1,A1,G1,20\n2,A2,G9,12\n3,A3,G1 ,12\n'
const GROUPS = 'localId,code,title\n1,G1,One\n'

async function start({ encrypted = false } = {}) {
  const folder = temporaryFolder()
  const service = await Service.start({
    RATE_LIMIT_SUBMISSIONS: 'off',
    DEFINITIONS: makeSmallDefinition(),
    CHECK_FOLDER: folder,
    ...(encrypted && { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` }),
  })
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const { key } = await service.createKey({ scopes, eids: ['1001'] })
  const ask = (
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    { headers: own = {}, ...more }: InjectOptions = {},
  ) => {
    const headers = { 'x-api-key': key, eid: '1001', 'content-type': 'text/csv' }
    return service.request({
      method,
      url: `/v1/submissions${path}`,
      headers: { ...headers, ...own },
      ...more,
    })
  }
  const created = await ask('POST', '', {
    headers: { 'x-api-key': key, eid: '1001', 'content-type': 'application/json' },
    payload: { returnId: '202512' },
  })
  const { submissionToken: token } = created.json() as { submissionToken: string }
  const upload = async () => {
    await ask('PUT', `/${token}/files/people`, { payload: PEOPLE })
    await ask('PUT', `/${token}/files/groups`, { payload: GROUPS })
  }
  return { service, folder, ask, token, upload }
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
    const { folder, ask, token, upload } = await start({ encrypted })
    await upload()
    const workbook = await ask('GET', `/${token}/marked-files`)
    expect(workbook.statusCode).toBe(200)
    expect(workbook.headers).toMatchObject({
      'content-type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'content-disposition': 'attachment; filename="marked.xlsx"',
      'cache-control': 'private, no-store',
    })
    const path = join(temporaryFolder(), 'marked.xlsx')
    writeFileSync(path, workbook.rawPayload)
    const sheets = await readWorkbook(path)
    expect(sheets.map(({ name }) => name)).toEqual(['Summary', 'people', 'groups'])

    const marked = await ask('GET', `/${token}/marked-files?format=csv`)
    expect(marked.headers['content-type']).toBe('application/zip')
    const copies = await unpack(marked.rawPayload)
    expect(Object.keys(copies).sort()).toEqual(['groups.csv', 'people.csv'])
    expect(copies['people.csv']).toMatch(/A2,G9,12/)
    expect(copies['people.csv']).toMatch(/No record of groups has group/)

    const corrected = await ask('GET', `/${token}/corrected-files`)
    const fixed = await unpack(corrected.rawPayload)
    expect(Object.keys(fixed).sort()).toEqual(['groups.csv', 'mahi-changes.csv', 'people.csv'])
    expect(fixed['people.csv']).toBe(PEOPLE.replace('G1 ', 'G1'))
    expect(fixed['mahi-changes.csv']).toMatch(/people\.csv,4,group,G1 ,G1/)

    // The submission is as it was.
    expect((await ask('GET', `/${token}/files/people`)).body).toBe(PEOPLE)
    expect(
      readdirSync(folder, { recursive: true }).filter((name) =>
        statSync(join(folder, String(name))).isFile(),
      ),
    ).toEqual([])
  },
)

test('without files, after a cancellation and with an unknown format there is nothing to send', async () => {
  const { ask, token, upload } = await start()
  const empty = await ask('GET', `/${token}/corrected-files`)
  expect([empty.statusCode, empty.json().detail]).toEqual([
    404,
    'The submission has no files yet. Upload them first.',
  ])
  await upload()
  expect((await ask('GET', `/${token}/marked-files?format=pdf`)).statusCode).toBe(400)
  await ask('DELETE', `/${token}`)
  expect((await ask('GET', `/${token}/marked-files`)).statusCode).toBe(410)
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
  const first = await ask('GET', `/${token}/corrected-files`)
  const again = await ask('GET', `/${token}/corrected-files`)
  expect(again.rawPayload.equals(first.rawPayload)).toBe(true)
  const [id = ''] = await made()
  expect(await made()).toEqual([id])
  const shown = await ask('GET', `/${token}/jobs/${id}`)
  expect(shown.json()).toMatchObject({ jobId: id, work: 'corrected', status: 'Processed' })
  expect((await ask('GET', `/${token}/jobs/unknown`)).statusCode).toBe(404)
  await service.database.write('schema', (writer) => writer.run('update submission_job set completed = 1'))
  await forgetOldJobs(service.database)
  expect((await ask('GET', `/${token}/jobs/${id}`)).statusCode).toBe(404)
  await ask('GET', `/${token}/corrected-files`)
  const [other] = await made()
  expect(other).not.toBe(id)
  await upload()
  // Without a worker, the response says where the result will be.
  const later = await ask('GET', `/${token}/corrected-files`, { headers: { prefer: 'respond-async' } })
  expect([later.statusCode, later.json().status]).toEqual([202, expect.stringMatching(/Queued|InProgress/)])
  expect(later.headers.location).toBe(`/v1/submissions/${token}/jobs/${later.json().jobId}`)
})

test('a file that is deleted while it is read is a conflict', async () => {
  const { service, ask, token, upload } = await start()
  await upload()
  await service.database.write(`submission:${token}`, (writer) => writer.run('delete from file_chunk'))
  const response = await ask('GET', `/${token}/marked-files`)
  expect([response.statusCode, response.json()]).toEqual([
    409,
    expect.objectContaining({
      detail: 'A file was replaced or deleted while it was read. Try again.',
      errorCode: 'DS1',
    }),
  ])
})

test('other organisations and other scopes get neither', async () => {
  const { service, token, upload } = await start()
  await upload()
  const { key: other } = await service.createKey({ scopes: ['validation-results:read'], eids: ['1002'] })
  const { key: writer } = await service.createKey({ scopes: ['submissions:write'], eids: ['1001'] })
  for (const path of ['marked-files', 'corrected-files']) {
    const url = `/v1/submissions/${token}/${path}`
    expect((await service.get(url, { 'x-api-key': other, eid: '1002' })).statusCode).toBe(401)
    expect((await service.get(url, { 'x-api-key': writer, eid: '1001' })).statusCode).toBe(401)
  }
})
