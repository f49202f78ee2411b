import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { startSubmissions } from './support/submissions.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
const PROGRAM = Buffer.concat([Buffer.from('7f454c4602010100', 'hex'), Buffer.alloc(64)])

test('a file that is no text is refused, and replaces nothing', async () => {
  const { createCaller } = await startSubmissions('sdr')
  const { ask, create, ...caller } = await createCaller('sender', ['1001'])
  const token = await create()
  const put = (content: Buffer | string, type = 'text/csv') =>
    caller.put(token, 'learners', content, { 'content-type': type })
  const good = 'studentIdentificationCode\n1\n'
  expect((await put(good)).status).toBe(200)
  const NUL = 'it is not a text file'
  const html = '<!DOCTYPE html>\n<table><tr><td>1</td></tr></table>\n'
  for (const [content, named, type] of [
    [PNG, 'an image'],
    [PROGRAM, 'a binary file'],
    ['studentIdentificationCode\n1\u00002\n', NUL],
    ['{"studentIdentificationCode":"1"}\n\0', NUL, 'application/x-ndjson'],
    ['PAR1\x15\0\x15', 'a Parquet file'],
    ['SQLite format 3\0', 'a SQLite database'],
    [html, 'an HTML page'],
    [`\ufeff${html}`, 'an HTML page'],
    [Buffer.from(`\ufeff${html}`, 'utf16le'), 'an HTML page'],
    [gzipSync(html), 'an HTML page'],
    ['<?xml version="1.0"?>\n<learners/>\n', 'an XML document'],
    ['[{"studentIdentificationCode":"1"}]', 'a JSON list', 'application/x-ndjson'],
  ] as const) {
    const refused = await put(content, type)
    expect(refused.status).toBe(415)
    expect(refused.body).toMatchObject({ detail: expect.stringContaining(named) })
    expect((await ask('GET', `/submissions/${token}/files/learners`)).text).toBe(good)
  }
  // A column may have the name of a format.
  expect((await put(`PAR1,${good}`)).status).toBe(200)
  // Text in another encoding has NUL bytes, and no NUL characters.
  expect((await put(Buffer.from(`\ufeff${good}`, 'utf16le'))).status).toBe(200)
})
