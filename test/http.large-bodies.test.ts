import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Problem } from '../src/api/contract/problems.ts'
import { BodyMemory } from '../src/api/request/body-memory.ts'
import { parseBody } from '../src/api/request/parse-body.ts'
import { Budget } from '../src/foundation/budget/budget.ts'
import { compileInTurns, compileSchema } from '../src/foundation/schema/compile.ts'
import { parseExactJson } from '../src/foundation/text/exact-json.ts'
import { RecordBatch, RecordDeletion } from '../src/submissions/schema.ts'
import { countWork } from './support/counted-work.ts'
import { cases } from './support/properties.ts'

const KB = 1024

function parse(text: string | Buffer): Promise<unknown> {
  const budget = new Budget({ capacity: 2 ** 30, detail: 'There is no room.', retryAfter: 1 })
  return parseBody(Buffer.from(text), new BodyMemory(budget, 'a', () => undefined))
}

/** How often others had a turn during some work. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let ended = false
  const turn = () => {
    turns++
    if (!ended) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  ended = true
  return turns
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
    cases(60),
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

const FIELDS = Array.from({ length: 20 }, (_, field) => field)
/** Objects that all have other names take V8 longest. */
const HOSTILE = {
  content: Array.from({ length: 9_000 }, (_, index) => ({
    localId: `L${index}`,
    ...Object.fromEntries(FIELDS.map((field) => [`n${index}_${field}`, 'x'])),
  })),
}

test('others have turns while a hostile body is parsed and checked', async () => {
  const text = JSON.stringify(HOSTILE)
  let value: unknown
  expect(await countTurns(async () => (value = await parse(text)))).toBeGreaterThan(3)
  expect(value).toEqual(HOSTILE)
  const read = compileInTurns(RecordBatch)
  const { faults } = await read(value)
  expect(faults).toEqual([])
})

const MB = 2 ** 20

test.each([
  ['one text of escaped quotes', `{"a":"${'\\"'.repeat(MB)}"}`],
  ['texts of escaped quotes', `{"a":[${`"${'\\"'.repeat(50_000)}",`.repeat(20)}1]}`],
  ['quotes', '"'.repeat(MB)],
  ['white space in a list', `{"a":[${' '.repeat(MB)}]}`],
  ['small items', `{"a":[${'1,'.repeat(30_000)}1],"b":"${'x'.repeat(200 * KB)}"}`],
  ['brackets', '[]'.repeat(MB)],
  ['lists in a list', `{"a":[${'[],'.repeat(30_000)}1]}`],
])('the event loop waits for a bounded number of bytes of a body: %s', async (_, text) => {
  const body = Buffer.from(text)
  const { total, most } = await countWork(() =>
    parse(body).catch((error: unknown) => expect(error).toBeInstanceOf(Problem)),
  )
  // A part of 256 KiB is decoded, compared with an expression, looked at by character and parsed at once.
  expect(most).toBeLessThan(1.25 * MB)
  expect(total).toBeLessThan(8 * body.length)
})

test('a list of faulty records takes a time in proportion to their number', { timeout: 60_000 }, async () => {
  // Each fault was compared to all others: this took a quarter of an hour.
  const content = Array.from({ length: 240_000 }, () => ({}))
  let reading: Awaited<ReturnType<ReturnType<typeof compileInTurns>>> | undefined
  const turns = await countTurns(async () => {
    reading = await compileInTurns(RecordBatch, { personal: true })({ content })
  })
  expect(reading?.faults).toHaveLength(240_000)
  expect(reading?.faults.at(-1)).toEqual({ field: 'content[239999].localId', message: 'is missing' })
  expect(turns).toBeGreaterThan(3)
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
