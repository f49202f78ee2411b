import { expect, test } from 'vitest'
import { Service } from './support/service.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
const PROGRAM = Buffer.concat([Buffer.from('7f454c4602010100', 'hex'), Buffer.alloc(64)])

test('a file that is no text is refused, and replaces nothing', async () => {
  const service = await Service.start()
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const { key } = await service.createKey({ scopes, eids: ['1001'] })
  const headers = { 'x-api-key': key, eid: '1001' }
  const url = `/v1/submissions/${await service.createSubmission(headers)}/files/learners`
  const put = (payload: Buffer | string, type = 'text/csv') =>
    service.request({ method: 'PUT', url, headers: { ...headers, 'content-type': type }, payload })
  const good = 'studentIdentificationCode\n1\n'
  expect((await put(good)).statusCode).toBe(200)
  for (const [content, type] of [
    [PNG, 'text/csv'],
    [PROGRAM, 'text/csv'],
    ['studentIdentificationCode\n1\u00002\n', 'text/csv'],
    ['{"studentIdentificationCode":"1"}\n\0', 'application/x-ndjson'],
  ] as const) {
    const refused = await put(content, type)
    expect(refused.statusCode).toBe(415)
    expect(refused.json()).toMatchObject({ detail: expect.stringContaining('it is not a text file') })
    expect((await service.get(url, headers)).body).toBe(good)
  }
  // Text in another encoding has NUL bytes, and no NUL characters.
  expect((await put(Buffer.from(`\ufeff${good}`, 'utf16le'))).statusCode).toBe(200)
})
