import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { Installation } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { sourceOf } from '../support/service.ts'

const ENTRIES = 1000

test('a process that is told to stop lets a slow reader finish, and ends though the reader keeps its connection', async () => {
  const mahi = new Installation({ inProcesses: true })
  const { key, token } = await publishLargePage(mahi.databaseUrl)
  const { command, url } = await mahi.serve()
  const path = `/v1/submissions/${token}/validation-results?pageSize=${ENTRIES}`
  const asked = request(url + path, {
    headers: { 'x-api-key': key, eid: '1001', connection: 'keep-alive' },
  })
  const response = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject).end()
  })

  // The page is larger than what the sockets hold, so its answer has begun and can't end before it is read.
  const exit = command.stop()
  let body = ''
  for await (const part of response) body += part.toString('latin1')

  expect(JSON.parse(body)).toMatchObject({ totalCount: ENTRIES })
  // A process that is cut off after ten seconds ends with 1.
  expect(await exit).toBe(0)
})

test('idle connections, which browsers open in advance, do not delay it', async () => {
  const { command, url } = await new Installation({ inProcesses: true }).serve()
  const { hostname, port } = new URL(url)
  const silent = connect(Number(port), hostname)
  await once(silent, 'connect')
  const ended = once(silent.resume(), 'close')
  // Connections are taken in their order: after this answer the silent one is there too.
  expect((await ask(`${url}/livez`)).status).toBe(200)

  expect(await command.stop()).toBe(0)
  await ended
})

test('uploads in progress continue when everything else has been cut off, until SHUTDOWN_GRACE', async () => {
  const start = async (settings: Record<string, string>) => {
    const mahi = new Installation({ inProcesses: true })
    const { key } = await publishLargePage(mahi.databaseUrl, 1)
    const { command, url } = await mahi.serve(settings)
    const client = createClient({ baseUrl: url, apiKey: key, eid: '1001' })
    const { submissionToken } = await client.submissions.create({ returnId: '202512' })
    const upload = request(`${url}/v1/submissions/${submissionToken}/files/courses`, {
      method: 'PUT',
      headers: { 'x-api-key': key, eid: '1001', 'content-type': 'text/csv' },
    })
    const answered = new Promise<number | undefined>((resolve) => {
      upload.once('response', (response) => resolve(response.resume().statusCode))
      upload.once('error', () => resolve(undefined))
    })
    upload.write('localId,courseCode\n')
    const { hostname, port } = new URL(url)
    const stuck = connect(Number(port), hostname)
    stuck.write('GET /livez HTTP/1.1\r\nHost: a\r\n')
    // Connections are accepted in their order: after this response, both are there.
    expect((await ask(`${url}/livez`)).status).toBe(200)
    const cut = once(stuck.resume(), 'close')
    return { exit: command.stop(), upload, answered, cut }
  }
  const [patient, limited] = await Promise.all([start({}), start({ SHUTDOWN_GRACE: '1' })])
  await patient.cut
  patient.upload.end('c1,C1\n')
  // What has arrived is read once there is a worker.
  expect([await patient.answered, await patient.exit]).toEqual([202, 0])
  expect([await limited.answered, await limited.exit]).toEqual([undefined, 0])
})

/** A submission whose entries fill a page of some 20 MB. */
async function publishLargePage(url: string, count = ENTRIES): Promise<{ key: string; token: string }> {
  return await withDatabase(url, async (database) => {
    const recordText = 'x'.repeat(20_000)
    const entries = Array.from({ length: count }, (_, index) => ({ localId: String(index), recordText }))
    const { submissionToken } = await publishResults(database, sourceOf(entries), {
      eid: '1001',
      returnId: 'R1',
    })
    const { key } = await createKey(database, {
      client: 'reader',
      scopes: ['validation-results:read', 'submissions:write'],
      eids: ['1001'],
      expires: Date.now() + 86_400_000,
    })
    return { key, token: submissionToken }
  })
}
