import { expect, test } from 'vitest'
import { Sealer } from '../src/database/seal.ts'
import { CSV, NDJSON, streamEntries } from '../src/validation-results/export.ts'
import { findSubmission } from '../src/validation-results/queries.ts'
import { Service } from './support/service.ts'

test('an export is read in small pieces, because each stopped reader keeps some of them in memory', async () => {
  const service = await Service.start()
  const recordText = 'x'.repeat(4096)
  const entries = Array.from({ length: 300 }, (_, index) => ({ localId: String(index), recordText }))
  const { submissionToken } = await service.publish(entries)
  const submission = await findSubmission(service.database, submissionToken)
  if (submission === undefined) throw new Error('there is no submission')
  for (const type of [CSV, NDJSON]) {
    const sealing = { sealer: new Sealer(), etag: '"1"' }
    const result = streamEntries(type, service.database, submission, undefined, sealing)
    if (result.kind !== 'stream') throw new Error('an export is a stream')
    let [bytes, most] = [0, 0]
    for await (const piece of result.body) {
      bytes += piece.length
      most = Math.max(most, piece.length)
    }
    expect(bytes).toBeGreaterThan(300 * 4096)
    expect(most).toBeLessThan(256 * 1024)
  }
})
