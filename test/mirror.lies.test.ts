import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createClient } from '../client/src/index.ts'
import { listen } from './support/connection.ts'
import { GOOD, makeCopy, sendSnapshot } from './support/hostile-service.ts'
import { Service } from './support/service.ts'

type Line = Record<string, unknown>

const line = (each: Line) => `${JSON.stringify(each)}\n`
const RECORDS: Line[] = [1, 2, 3].map((number) => ({
  occupationCode: `O${number}`,
  titleEnglish: 'Nurse',
  titleMaori: 'Nēhi',
}))
/** The catalogue of which the service lies, and its digest. */
const TRUTH = RECORDS.map(line).join('')
const digest = { 'ndjson-digest': `sha-256=:${createHash('sha256').update(TRUTH).digest('base64')}:` }

/** What a proxy can make of a snapshot: of its text, with its count corrected, or of its headers. */
const LIES: Readonly<Record<string, readonly [content: string | Buffer, headers?: Record<string, string>]>> =
  {
    'omits a record': [RECORDS.slice(1).map(line).join('')],
    'omits every record': [''],
    'has another order': [RECORDS.toReversed().map(line).join('')],
    'decomposes letters': [TRUTH.normalize('NFD')],
    'has another order of fields': [
      RECORDS.map((each) => line(Object.fromEntries(Object.entries(each).sort().reverse()))).join(''),
    ],
    'cuts the snapshot short': [TRUTH.slice(0, TRUTH.length / 2)],
    'sends bytes that are not UTF-8': [
      Buffer.from(Buffer.from(TRUTH).toString('latin1').replace('\u00c4\u0093', '\u00c4 '), 'latin1'),
    ],
    'has another count': [TRUTH, { 'total-count': '99' }],
    'has another digest': [TRUTH, { 'ndjson-digest': `sha-256=:${'A'.repeat(43)}=:` }],
    'has no digest': [TRUTH, { 'ndjson-digest': '' }],
    'answers with a page of HTML': ['<html>Please sign in</html>', { 'content-type': 'text/html' }],
  }

test('a mirror and a copy in memory keep what they have, whatever lies a service tells', async () => {
  const { mirror, become, copy, url } = await makeCopy()
  const { occupations } = createClient({ baseUrl: url, cachedPages: 0 })
  const copied = await occupations.copy()
  for (const [name, [content, headers]] of Object.entries(LIES)) {
    become((response) => sendSnapshot(response, content, { ...digest, ...headers }))
    await expect(mirror(), name).rejects.toThrow()
    expect([name, copy()]).toEqual([name, GOOD])
    await expect(occupations.copy(copied), name).rejects.toMatchObject({ kind: 'unreadable' })
  }
  become((response) => sendSnapshot(response, TRUTH))
  await mirror()
  expect(copy()).toBe(TRUTH)
  const next = await occupations.copy(copied)
  expect([...next.records.values()]).toEqual(RECORDS)
  become((response) => response.writeHead(304).end())
  expect(await occupations.copy(next)).toBe(next)
})

test('the last page of changes carries the digest of the snapshot, and others none', async () => {
  const service = await Service.start({ OCCUPATIONS_LIMIT_MAX: '3' })
  await service.import([1, 2, 3, 4, 5].map((number) => ({ occupationCode: `O${number}` })))
  const baseUrl = `http://127.0.0.1:${await listen(service)}`
  const { occupations } = createClient({ baseUrl, apiKey: service.key })
  const snapshot = await occupations.snapshot()
  const pages = []
  for await (const page of occupations.changePages()) pages.push(page)
  expect(pages.map((page) => page.digest)).toEqual([undefined, snapshot.digest])
  expect(pages.at(-1)?.revision).toBe(snapshot.revision)
  expect(await occupations.changes({ since: 'latest' })).toMatchObject({ digest: snapshot.digest })
})
