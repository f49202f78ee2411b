import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readRecords } from '../src/engines/records/index.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { takeTurn } from '../src/foundation/timed-turns.ts'
import { CSV, NDJSON, streamEntries } from '../src/submissions/findings/export.ts'
import { PUBLISHED_COLUMNS } from '../src/submissions/findings/publish.ts'
import { findAny } from '../src/submissions/submission/submission.ts'
import { parseLines } from './support/lines.ts'
import { readAll } from './support/reading.ts'
import { Service } from './support/service.ts'
import { temporaryFolder } from './support/temporary.ts'

test('an export is read in small pieces, and gives others a turn before it reads, because readers can stop or be fast', async () => {
  const service = await Service.start()
  const recordText = 'x'.repeat(4096)
  const entries = Array.from({ length: 300 }, (_, index) => ({ localId: String(index), recordText }))
  const { submissionToken } = await service.publish(entries)
  const submission = await findAny(service.database, submissionToken)
  if (submission === undefined) throw new Error('there is no submission')
  for (const type of [CSV, NDJSON]) {
    let [bytes, most, pieces, turns] = [0, 0, 0, 0]
    // Turns are taken in the order in which they are asked for, so this one comes before that of the export, even while
    // work of an earlier test still waits.
    const ask = () => void takeTurn().then(() => turns++)
    ask()
    const sealing = { sealer: new Sealer(), etag: '"1"' }
    const result = await streamEntries(type, service.database, submission, undefined, sealing)
    if (result.kind !== 'stream') throw new Error('an export is a stream')
    for await (const piece of result.body) {
      expect(turns, 'turns of the event loop for others').toBe(++pieces)
      ask()
      bytes += piece.length
      most = Math.max(most, piece.length)
    }
    expect(bytes).toBeGreaterThan(300 * 4096)
    expect(most).toBeLessThan(256 * 1024)
  }
})

test('CSV is exact: published again it is what it was', async () => {
  const service = await Service.start()
  const entries = ['=1+1', '-5', "'=1", '@x'].map((value, line) => ({
    localId: value,
    line: line + 1,
    value,
  }))
  const { submissionToken } = await service.publish(entries)
  const path = `/v1/submissions/${submissionToken}/validation-results`
  const { body } = await service.get(path, { eid: '1001', accept: CSV })
  const [, ...lines] = body.trimEnd().split('\n')
  expect(lines.map((line) => line.split(',')[0])).toEqual(['=1+1', '-5', "'=1", '@x'])
  const file = join(temporaryFolder(), 'findings.csv')
  writeFileSync(file, body)
  const { records } = await readAll(readRecords([file], { columns: PUBLISHED_COLUMNS }))
  expect(records.map(({ value }) => value)).toEqual(entries)
})

test.each([undefined, `k1:${Buffer.alloc(32, 7).toString('base64')}`])(
  'the text of a record with many findings is stored once, and every response has it',
  async (keys) => {
    const service = await Service.start(keys === undefined ? {} : { ENCRYPTION_KEYS: keys })
    const [long, other] = ['ā"\\'.repeat(1000), 'y'.repeat(300)]
    const texts = [...Array<string>(60).fill(long), other, undefined, long, 'short', 'short', other, other]
    const entries = texts.map((recordText, index) => ({
      ...(index === 10 ? {} : { localId: String(index), errorCode: index % 2 === 0 ? 'A' : 'B' }),
      ...(recordText !== undefined && { recordText }),
    }))
    const { submissionToken } = await service.publish(entries)
    const stored = await service.database.get<{ blocks: number; bytes: number }>(
      'select count(*) as blocks, sum(length(content)) as bytes from result_block',
    )
    expect(Number(stored?.blocks)).toBe(8)
    expect(Number(stored?.bytes)).toBeLessThan(Buffer.byteLength(JSON.stringify(long)))

    const path = `/v1/submissions/${submissionToken}/validation-results`
    const paged: unknown[] = []
    for (let page = 1; page <= 7; page++) {
      const response = await service.get(`${path}?pageSize=10&page=${page}`, { eid: '1001' })
      paged.push(...(response.json().results as unknown[]))
    }
    expect(paged).toEqual(entries)
    const filtered = await service.get(`${path}?pageSize=100&Filter.ErrorCode=B`, { eid: '1001' })
    expect(filtered.json().results).toEqual(entries.filter(({ errorCode }) => errorCode === 'B'))
    const exported = await service.get(path, { eid: '1001', accept: NDJSON })
    expect(parseLines(exported.body)).toEqual(entries)
    const headers = { eid: '1001', accept: NDJSON, 'accept-encoding': 'br, gzip' }
    const compressed = await service.get(path, headers)
    const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8'))
    const declared =
      paths['/v1/submissions/{submissionToken}/validation-results'].get.responses['200'].headers
    for (const name of ['total-count', 'found-count', 'content-disposition'])
      expect(declared).toHaveProperty(name)
    expect(compressed.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: expect.stringContaining('accept-encoding'),
    })
    expect(gunzipSync(compressed.rawPayload).toString()).toBe(exported.body)
  },
)
