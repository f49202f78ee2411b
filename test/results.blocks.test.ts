import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Sealer } from '../src/foundation/database/seal.ts'
import { reencryptRuns } from '../src/submissions/encryption/reencrypt-findings.ts'
import { packTexts, Unpacked } from '../src/submissions/findings/blocks.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { readJoined } from '../src/submissions/findings/read-findings.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { sourceOf } from './support/source.ts'

test('a block gives back any of its texts', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant(''), fc.constant('ā"\\,'.repeat(300)))
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 1, maxLength: 20 }),
      fc.nat(19),
      fc.nat(20),
      (texts, one, other) => {
        const unpacked = new Unpacked(packTexts(texts))
        expect(unpacked.count).toBe(texts.length)
        expect(texts.map((_, index) => unpacked.text(index))).toEqual(texts)
        const [from, to] = [one, other].map((each) => Math.min(each, texts.length)).sort((a, b) => a - b)
        expect(unpacked.slice(from ?? 0, to ?? 0).toString()).toBe(
          texts
            .slice(from, to)
            .map((each) => `${each},`)
            .join(''),
        )
      },
    ),
    cases(20),
  )
})

test('a block that was changed is not taken for findings', () => {
  const packed = packTexts(['{"localId":"1"}', '{"localId":"2"}'])
  expect(() => new Unpacked(Buffer.from(packed.subarray(0, -3)))).toThrow()
  packed[1] = 3
  expect(() => new Unpacked(packed)).toThrow()
})

test('findings are encrypted again, and read alike before and after', async () => {
  const database = await openTemporary()
  const entries = Array.from({ length: 1_050 }, (_, at) => ({ localId: `L${at}`, studentId: `S${at % 500}` }))
  const publication = { eid: '1001', returnId: 'R1', token: 'encrypted-again' }
  const { runId: run } = await publishResults(database, sourceOf(entries), publication)
  const wanted = Array.from({ length: 50 }, (_, at) => 1_000 + at)
  const read = async (by: Sealer) => (await readJoined(database, run, wanted, by))?.toString()
  const before = await read(new Sealer())
  const sealer = new Sealer([{ id: 'k1', key: Buffer.alloc(32, 3) }])
  expect(await reencryptRuns(database, sealer)).toBe(1)
  expect(await read(sealer)).toBe(before)
  const students = await database.all<{ value: string }>(
    `select value from result_posting where field = 'studentId'`,
  )
  expect(students.filter(({ value }) => value.length < 22)).toEqual([])
  await expect(read(new Sealer())).rejects.toThrow('"k1"')
})
