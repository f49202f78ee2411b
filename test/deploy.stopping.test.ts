import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { Served } from './support/served.ts'
import { sourceOf } from './support/service.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const ENTRIES = 1000

test('a process that is told to stop lets a slow reader finish, and ends though the reader keeps its connection', async () => {
  const url = temporaryDatabaseUrl()
  const { key, token } = await publishLargePage(url)
  const served = await Served.start({ DATABASE_URL: url, LOG_LEVEL: 'info' })
  const path = `/v1/submissions/${token}/validation-results?pageSize=${ENTRIES}`
  const asked = request(served.url + path, {
    headers: { 'x-api-key': key, eid: '1001', connection: 'keep-alive' },
  })
  const response = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject).end()
  })

  // The page is larger than what the sockets hold, so its answer has begun and can't end before it is read.
  const exit = served.stop()
  let body = ''
  for await (const part of response) body += part.toString('latin1')

  expect(JSON.parse(body)).toMatchObject({ totalCount: ENTRIES })
  // A process that is cut off after ten seconds ends with 1.
  expect(await exit).toBe(0)
})

test('idle connections, which browsers open in advance, do not delay it', async () => {
  const served = await Served.start({ DATABASE_URL: temporaryDatabaseUrl(), LOG_LEVEL: 'info' })
  const { hostname, port } = new URL(served.url)
  const silent = connect(Number(port), hostname)
  await once(silent, 'connect')
  const ended = once(silent.resume(), 'close')
  // Connections are taken in their order: after this answer the silent one is there too.
  expect((await served.get('/livez')).status).toBe(200)

  expect(await served.stop()).toBe(0)
  await ended
})

/** A submission whose entries fill a page of some 20 MB. */
async function publishLargePage(url: string): Promise<{ key: string; token: string }> {
  const database = await openDatabase(url)
  try {
    const recordText = 'x'.repeat(20_000)
    const entries = Array.from({ length: ENTRIES }, (_, index) => ({ localId: String(index), recordText }))
    const { submissionToken } = await publishResults(database, sourceOf(entries), {
      eid: '1001',
      returnId: 'R1',
    })
    const { key } = await createKey(database, {
      client: 'reader',
      eids: ['1001'],
      expires: Date.now() + 86_400_000,
    })
    return { key, token: submissionToken }
  } finally {
    await database.close()
  }
}
