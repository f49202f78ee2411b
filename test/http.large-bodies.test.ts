import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyMemory } from '../src/api/request/body-memory.ts'
import { parseBody } from '../src/api/request/parse-body.ts'
import { Budget } from '../src/foundation/budget/budget.ts'
import { compileInTurns, compileSchema } from '../src/foundation/schema/compile.ts'
import { parseExactJson } from '../src/foundation/text/exact-json.ts'
import { RecordBatch, RecordDeletion } from '../src/submissions/schema.ts'
import { cases } from './support/properties.ts'

const KB = 1024

function parse(text: string | Buffer): Promise<unknown> {
  const budget = new Budget({ capacity: 2 ** 30, detail: 'There is no room.', retryAfter: 1 })
  return parseBody(Buffer.from(text), new BodyMemory(budget, 'a', () => undefined))
}

/** Makes a text so long that its items are parsed one after the other. */
const lengthen = (text: string) =>
  `${text.slice(0, -1)}${text === '{}' ? '' : ','}"filler":["${'x'.repeat(200 * KB)}","${'y'.repeat(200 * KB)}"]}`

test('a large body is parsed like a small one, whatever it contains', async () => {
  const json = fc.dictionary(
    fc.string({ minLength: 1 }),
    fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue()),
    { minKeys: 1 },
  )
  await fc.assert(
    fc.asyncProperty(json, fc.nat({ max: 4 }), async (value, spaces) => {
      const text = lengthen(JSON.stringify(value, undefined, spaces).trimEnd())
      expect(await parse(text)).toEqual(parseExactJson(text))
    }),
    cases(20),
  )
})

test('a large body that is not well-formed is refused', async () => {
  const broken = [
    '{"a":[1,]}',
    '{"a":[,]}',
    '{"a":[1 2]}',
    '{"a":[1}',
    '{"a":[]]}',
    '{"a":[1],}',
    '{"a":["\\ud"]}',
    '{"a":[{"b":}]}',
    '{"a":[\ufeff1]}',
  ]
  for (const text of broken)
    await expect(parse(lengthen('{}').replace(/}$/, `,${text.slice(1)}`)), text).rejects.toThrow(
      'not well-formed',
    )
  await expect(parse(Buffer.from(lengthen('{"a":["\u00e9"]}'), 'latin1'))).rejects.toThrow('not UTF-8')
  for (const text of ['', ' \n']) await expect(parse(text)).rejects.toThrow('is empty')
})

test('an item of a body is at most as large as a record, and so is the rest of it', async () => {
  const text = (length: number) => 'x'.repeat(length)
  await expect(parse(JSON.stringify({ content: [{ localId: text(260 * KB) }] }))).rejects.toThrow(
    'an item of more than 256 KiB',
  )
  await expect(parse(JSON.stringify({ content: [], other: text(260 * KB) }))).rejects.toThrow(
    'outside of the items',
  )
  await expect(parse(JSON.stringify(Array(300_000).fill(1)))).rejects.toThrow('more than 250,000 values')
  await expect(parse(JSON.stringify(Array(200_000).fill(1)))).rejects.toThrow('outside of the items')
})

test('a body is checked in turns as at once', async () => {
  const bodies = [
    {},
    { content: [] },
    { content: null },
    { content: 'x' },
    { content: [null, { localId: 'a' }] },
    { content: [{ localId: 'a', x: 1 }, { localid: 'b' }, 3], other: 1 },
    null,
    [],
  ]
  for (const schema of [RecordBatch, RecordDeletion])
    for (const body of bodies) expect(await compileInTurns(schema)(body)).toEqual(compileSchema(schema)(body))
})
