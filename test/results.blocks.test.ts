import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Sealer } from '../src/foundation/database/seal.ts'
import { packLines, textOf, unpackLines } from '../src/submissions/findings/blocks.ts'
import { selectEntries } from '../src/submissions/findings/filters.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { readJoined } from '../src/submissions/findings/read-findings.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { sourceOf } from './support/source.ts'

test('a block gives back its texts, and a list of them', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant(''), fc.constant('ā"\\,\n'.repeat(300)))
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
      const lines = unpackLines(packLines(texts.map((each) => JSON.stringify(each))))
      expect(lines.map((line) => JSON.parse(textOf(line)))).toEqual(texts)
      expect(JSON.parse(`[${Buffer.concat(lines).subarray(0, -1)}]`)).toEqual(texts)
    }),
    cases(20),
  )
})

test('a block that was cut is not taken for findings', () => {
  const packed = packLines(['{"localId":"1"}', '{"localId":"2"}'])
  expect(() => unpackLines(packed.subarray(0, -3))).toThrow()
})

test('encrypted findings are read with their key, also once another one encrypts', async () => {
  const database = await openTemporary()
  const entries = Array.from({ length: 1_050 }, (_, at) => ({ localId: `L${at}`, studentId: `S${at % 500}` }))
  const [old, successor] = ['k1', 'k2'].map((id, at) => ({ id, key: Buffer.alloc(32, at) }))
  if (old === undefined || successor === undefined) throw new Error('there are two keys')
  const wanted = Array.from({ length: 50 }, (_, at) => 1_000 + at)
  const publish = async (token: string, sealer: Sealer) =>
    await publishResults(database, sourceOf(entries), { eid: '1001', returnId: 'R1', token, sealer })
  const { runId: plain } = await publish('plain-submission', new Sealer())
  const { runId: sealed } = await publish('sealed-submission', new Sealer([old]))
  const expected = (await readJoined(database, plain, wanted, new Sealer()))?.toString()
  const rotated = new Sealer([successor, old])
  expect((await readJoined(database, sealed, wanted, rotated))?.toString()).toBe(expected)
  const run = { run: sealed, totalCount: entries.length }
  const selected = await selectEntries(database, run, { 'Filter.StudentId': 'S7' }, rotated)
  expect(selected?.slice(0, 10)).toEqual([7, 507, 1_007])
  await expect(readJoined(database, sealed, wanted, new Sealer([successor]))).rejects.toThrow('"k1"')
})
