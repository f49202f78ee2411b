import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { DEADLINE, Installation } from '../support/command.ts'
import { ask } from '../support/load.ts'

test('uploads in progress continue when everything else has been cut off, until SHUTDOWN_GRACE', async () => {
  const start = async (settings: Record<string, string>) => {
    const mahi = new Installation({ inProcesses: true })
    const scopes = ['validation-results:read', 'submissions:write'] as const
    const key = await mahi.createKey({ scopes, eids: ['1001'] })
    const { command, url } = await mahi.serve(settings)
    const client = createClient({ baseUrl: url, apiKey: key, eid: '1001', deadline: DEADLINE })
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
