import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { check } from '../support/checking.ts'
import { parseLines } from '../support/lines.ts'
import { cases } from '../support/properties.ts'
import { makeSmallDefinition } from '../support/small-definition.ts'
import { startSubmissions } from '../support/submissions.ts'

interface Found {
  readonly errorCode: string
  readonly line: number
}

/** A service whose submissions are checked against the small definition. */
async function start() {
  const { definition, createCaller, work } = await startSubmissions(makeSmallDefinition())
  const { ask, create, ...caller } = await createCaller('reader', ['1001'])
  const put = (token: string, content: string | Buffer, headers = {}) =>
    caller.put(token, 'people', content, headers)
  const read = async (token: string, accept?: string) =>
    await ask('GET', `/submissions/${token}/files/people`, undefined, { accept })
  /** The findings of a run over the stored file. */
  const validate = async (token: string): Promise<Found[]> => {
    expect(await caller.check(token)).toMatchObject({ status: 'Processed' })
    const accept = { accept: 'application/x-ndjson' }
    return parseLines<Found>(
      (await ask('GET', `/submissions/${token}/validation-results`, undefined, accept)).text,
    )
  }
  return { definition, create, put, read, validate, work }
}

/** The findings of `mahi check`. */
async function checkPeople(definition: string, content: Buffer): Promise<readonly Found[]> {
  const { findings } = await check(
    { 'people.csv': content },
    { definition, complete: true, returnId: '202512' },
  )
  return findings
}

/** What both must say. A file that begins like NDJSON has another name where it is stored. */
const compare = (found: readonly Found[]) =>
  found.map((each) => {
    const { errorCode, line, field, value, errorDescription, localId, recordText } = each as Found &
      Record<string, unknown>
    return { errorCode, line, field, value, errorDescription, localId, recordText }
  })

function swap(bytes: Buffer): Buffer {
  return Buffer.from(bytes).swap16()
}

const ENCODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a mark': (text) => Buffer.from(`\ufeff${text}`),
  'UTF-16LE': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'UTF-16BE': (text) => swap(Buffer.from(`\ufeff${text}`, 'utf16le')),
  'UTF-16LE without a mark': (text) => Buffer.from(text, 'utf16le'),
  'Windows-1252': (text) => Buffer.from(text, 'latin1'),
  'a mixture': (text) => Buffer.concat([Buffer.from(text), Buffer.from('9,caf\xe9,G1,20\n', 'latin1')]),
}

const spelling = fc.constantFrom<(name: string) => string>(
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => name.replace('Id', '_ID'),
  (name) => ` ${name.replace('Id', '-id')} `,
)
const cell = fc.constantFrom(
  '',
  'A1',
  'A2',
  'B7',
  'G1',
  '20',
  '12',
  'é',
  'Käthe',
  ' x',
  'a b',
  '"',
  'ß;|',
  '1,5',
)
const row = fc.tuple(fc.integer({ min: 1, max: 9 }).map(String), cell, cell, cell)
const variant = fc.record({
  encoding: fc.constantFrom(...Object.keys(ENCODINGS)),
  separator: fc.constantFrom(',', ';', '\t', '|'),
  names: spelling,
  directive: fc.boolean(),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  packed: fc.constantFrom('no', 'said', 'unsaid'),
  isQuoted: fc.boolean(),
  rows: fc.array(row, { minLength: 1, maxLength: 12 }),
})
type Variant = typeof variant extends fc.Arbitrary<infer Value> ? Value : never

function render({ encoding, separator, names, directive, lineEnd, isQuoted, rows }: Variant): Buffer {
  const header = ['localId', 'id', 'group', 'age'].map(names)
  const quoted = (cells: readonly string[]) =>
    cells.map((each) => (isQuoted ? `"${each.replaceAll('"', '""')}"` : each)).join(separator)
  const lines = [...(directive ? [`sep=${separator}`] : []), header.join(separator), ...rows.map(quoted)]
  return (ENCODINGS[encoding] ?? Buffer.from)(lines.map((line) => `${line}${lineEnd}`).join(''))
}

test('an upload that mahi check reads is accepted, and a run has the findings of mahi check', async () => {
  const { definition, create, put, validate, work } = await start()
  await work()
  await fc.assert(
    fc.asyncProperty(variant, async (given) => {
      const content = render(given)
      const token = await create()
      const sent = given.packed === 'no' ? content : gzipSync(content)
      const response = await put(token, sent, given.packed === 'said' ? { 'content-encoding': 'gzip' } : {})
      expect(response.status, response.text).toBe(200)
      expect(compare(await validate(token))).toEqual(compare(await checkPeople(definition, content)))
    }),
    cases(8),
  )
})

test('the response to an upload notes what was guessed, and the file is stored as UTF-8', async () => {
  const { create, put, read } = await start()
  const token = await create()
  const text = 'localId,id,group,age\n1,Käthe,G1,20\n'
  const noted = async (content: Buffer) => (await put(token, content)).body.notes as string[] | undefined
  const stored = async () => (await read(token)).text
  expect(await noted(Buffer.from(text))).toBeUndefined()
  expect(await noted(Buffer.from(text, 'latin1'))).toEqual([
    'The file was read as Windows-1252, because it is not UTF-8.',
  ])
  expect(await stored()).toBe(text)
  expect(await noted(Buffer.from(`\ufeff${text}`, 'utf16le'))).toEqual([
    'The file was read as UTF-16, because it is not UTF-8.',
  ])
  expect(await stored()).toBe(text)
  // The notes of a marked copy are not a part of the file.
  const marked = 'mahi:line,mahi:severity,localId,id,group,age\n2,Error,1,Käthe,G1,20\n'
  for (const copy of [marked, `\n${marked}`, `sep=,\n${marked}`]) {
    expect(await noted(Buffer.from(copy))).toEqual([
      'The columns that begin with mahi: are notes of Mahi. They were left out.',
    ])
    expect(await stored()).toBe(text)
  }
  expect(await noted(Buffer.from(text.replaceAll('\n', '\r')))).toEqual([
    'The lines end with CR only. They were read as if they ended with LF.',
  ])
  expect(await stored()).toBe(text)
})

test('the response to an upload says if its first line is not the header of this file', async () => {
  const { create, put } = await start()
  const token = await create()
  const noted = async (content: string) => {
    const { status, body } = await put(token, content)
    expect(status).toBe(200)
    return body.notes?.[0] as string | undefined
  }
  const none = 'The first line has none of the expected columns, such as localId, id, group.'
  expect(await noted('People\nlocalId,id,group,age\n1,A,G1,20\n')).toBe(
    `${none} Line 2 has them: delete the line above it.`,
  )
  expect(await noted('localId,code,title\n1,G1,First\n')).toBe(
    'The first line has 1 of the columns of people, and 3 of groups. Is this the file groups? If so, send it as groups, or name it groups.csv.',
  )
  expect(await noted('id,extra\n1,2\n')).toBeUndefined()
  expect(await noted('localId,id,group,age\n')).toBe('The file has no records.')
})

const LONG = `{"localId":"3","id":"${'x'.repeat(300_000)}"}`

test('faulty lines of NDJSON are stored, and found by each run', async () => {
  const { definition, create, put, read, validate, work } = await start()
  await work()
  const token = await create()
  const lines = [
    '{"localId":"1","id":"A1","group":"G1","age":20}',
    '{"localId":"2","id":',
    '',
    LONG,
    '["A4"]',
    `{"localId":"5","id":${'['.repeat(200)}${']'.repeat(200)}}`,
    'localId,id',
  ]
  const content = Buffer.from(`${lines.join('\n')}\n`)
  const { body } = await put(token, content, { 'content-type': 'application/x-ndjson' })
  expect(body).toMatchObject({ records: 6 })
  expect((await read(token, 'application/x-ndjson')).text).toBe(content.toString())
  const found = await validate(token)
  expect(compare(found)).toEqual(compare(await checkPeople(definition, content)))
  expect(found.filter(({ errorCode }) => errorCode.endsWith('-record')).map(({ line }) => line)).toEqual([
    2, 4, 5, 6, 7,
  ])
})

test('a record that cannot be read is not converted to an empty one', async () => {
  const { create, put, read } = await start()
  const token = await create()
  await put(token, 'localId,id,group,age\n1,A1,G1,20\n2,A"2",G1,20\n')
  expect((await read(token, 'text/csv')).status).toBe(200)
  const csv = await read(token, 'application/x-ndjson')
  expect([csv.status, csv.body.detail]).toEqual([
    409,
    'Line 3 of the file cannot be converted. A value without quotes around it contains a quote. The file is available as CSV only.',
  ])
  const broken = Buffer.from('{"localId":"2","id":"caf\xe9"}\n', 'latin1')
  await put(token, Buffer.concat([Buffer.from('{"localId":"1","id":"ā"}\n'), broken]), {
    'content-type': 'application/x-ndjson',
  })
  const json = await read(token, 'text/csv')
  expect([json.status, json.body.detail]).toEqual([
    409,
    'Line 2 of the file is not valid UTF-8. The file is available as NDJSON only.',
  ])
})
