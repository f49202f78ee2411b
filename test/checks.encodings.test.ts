import { expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { advise, check, fix, toInputs } from './support/checking.ts'
import { define } from './support/definition.ts'

/** A definition of one file in an encoding, whose only permitted name is given. */
const definePeople = (encoding: string | undefined, name: string) =>
  define({
    people: {
      fields: [{ name: 'id' }, { name: 'name', constraints: { enum: [name] } }],
      resource: { encoding },
    },
  })

async function checkEncoded(encoding: string | undefined, name: string, content: Uint8Array) {
  const { summary, findings } = await check(
    { 'people.csv': content },
    { definition: definePeople(encoding, name) },
  )
  return {
    found: findings.map(({ errorDescription }) => errorDescription),
    notes: summary.files[0]?.notes,
    encoding: summary.files[0]?.encoding,
  }
}

/** A file with one record, whose name has these bytes. */
const people = (...name: number[]) =>
  Buffer.concat([Buffer.from('id,name\n1,'), Buffer.from(name), Buffer.from('\n')])

test.each<[string, string, number[]]>([
  ['Windows-1257', 'ā', [0xe2]],
  ['macintosh', 'é', [0x8e]],
  ['shift_jis', 'あ', [0x82, 0xa0]],
  ['iso-2022-jp', 'あ', [0x1b, 0x24, 0x42, 0x24, 0x22, 0x1b, 0x28, 0x42]],
])('a file in %s is read as its definition says', async (encoding, name, bytes) => {
  expect(await checkEncoded(encoding, name, people(...bytes))).toEqual({ found: [], notes: [], encoding })
})

test.each<[string, Buffer]>([
  ['UTF-16', Buffer.from('\ufeffid,name\n1,ā\n', 'utf16le')],
  ['UTF-8', Buffer.from('\ufeffid,name\n1,ā\n')],
  ['UTF-8', Buffer.from('id,name\n1,ā\n')],
])('%s shows in the bytes, and a note says that the definition differs', async (encoding, content) => {
  expect(await checkEncoded('iso-8859-13', 'ā', content)).toEqual({
    found: [],
    notes: [
      `The file was read as ${encoding}, as its bytes show. The definition says iso-8859-13: correct the one that is wrong.`,
    ],
    encoding,
  })
})

test.each(['utf-16', 'UTF-16BE'])('a file of ASCII is not read as %s', async (encoding) => {
  expect(await checkEncoded(encoding, 'A', people(0x41))).toEqual({
    found: [],
    notes: [
      `The file was read as UTF-8, as its bytes show. The definition says ${encoding}: correct the one that is wrong.`,
    ],
    encoding: 'UTF-8',
  })
})

test.each(['utf-16', 'UTF-16LE'])(
  'a file that is %s as its definition says has no note',
  async (encoding) => {
    const content = Buffer.from('\ufeffid,name\n1,ā\n', 'utf16le')
    expect((await checkEncoded(encoding, 'ā', content)).notes).toEqual([])
  },
)

test('a file that is not UTF-8, as its definition says, is a finding', async () => {
  expect(await checkEncoded('utf-8', 'é', people(0xe9))).toEqual({
    found: [
      'The file is not in utf-8, the encoding in the definition: it was read as Windows-1252. Save it as UTF-8, or correct the definition.',
    ],
    notes: [],
    encoding: 'Windows-1252',
  })
})

test('bytes without a character in the encoding are a finding with their line', async () => {
  const { found } = await checkEncoded('shift_jis', 'あ', people(0x82, 0xa0, 0xff))
  expect(found[0]).toBe(
    'Line 2 has bytes that are no characters in shift_jis, the encoding in the definition. Save the file in this encoding, or correct the definition.',
  )
})

test.each([
  ['klingon', 'not "klingon"'],
  ['latin-1', 'not "latin-1" (did you mean "latin1"?)'],
  ['cp850', 'not "cp850"'],
])('the encoding %s is refused by name', (encoding, end) => {
  expect(() => loadDefinition(definePeople(encoding, 'x'))).toThrow(
    `datapackage.json: resources[0].encoding: must be the name of an encoding that Mahi knows, such as utf-8 or windows-1252, ${end}`,
  )
})

/** Corrects a file. */
async function fixPeople(encoding: string | undefined, content: Buffer) {
  const { read, ...fixed } = await fix(toInputs({ 'people.csv': content }), definePeople(encoding, 'x'))
  return { ...fixed, copy: read('people.csv') }
}

/** A name of one record; the ID before it has spaces around it. */
const spaced = (name: string) => Buffer.from(`id,name\n 1,${name}\n2,\n3,\n`, 'latin1')

test.each(['caf\xe9', 'M\xfcller'])(
  '--fix writes %s of Windows-1252 in UTF-8: other encodings have the same letters',
  async (name) => {
    const { copy, left } = await fixPeople(undefined, spaced(name))
    expect([copy.toString(), left]).toEqual([`id,name\n1,${name}\n2,\n3,\n`, []])
  },
)

test.each([
  ['caf\x8e', 'café of the Macintosh'],
  ['caf\x82', 'café of DOS'],
  ['M\xe2ori', 'Māori of the Baltic encodings'],
  ['10 m\xfc', '10 m³ of DOS'],
  ['Garc\x92a', 'García of the Macintosh'],
  ['caf\xe9 \x81', 'café, and a byte without a character'],
])('--fix keeps the bytes of %j, which may be %s, and corrects the rest', async (name) => {
  const { copy, changes, left } = await fixPeople(undefined, spaced(name))
  expect([copy.toString('latin1'), changes]).toEqual([`id,name\n1,${name}\n2,\n3,\n`, 1])
  const why =
    'Line 2 has characters of an uncertain encoding, which is not changed. Save the file as UTF-8 in the program that made it.'
  expect(left).toEqual([{ file: 'people.csv', line: 2, why, count: 1 }])
})

test('--fix names the first lines of an uncertain encoding, and leaves one that the definition names', async () => {
  const content = Buffer.from(`id,name\n${'1,caf\x8e\n'.repeat(5)}`, 'latin1')
  const { copy, left } = await fixPeople(undefined, content)
  expect(left[0]?.why).toMatch(/^Lines 2, 3, 4 and 2 others have characters of an uncertain encoding/)
  expect(copy.equals(content)).toBe(true)
  const named = await fixPeople('iso-8859-13', spaced('\xe2'))
  expect([named.copy.equals(spaced('\xe2')), named.changes]).toEqual([true, 0])
})

test('text that was decoded wrongly, or has lost letters, is one warning a column, and --fix undoes what is certain', async () => {
  const definition = define({
    courses: { fields: [{ name: 'id' }, { name: 'title', 'mahi:characters': 'readable' }] },
  })
  const right = ['Te reo Māori', 'Café', 'Why? Because', 'Ärzte', 'see https://example.org/?q=a']
  const misread = ['kōrero', 'wānanga', 'mātauranga'].map((text) => Buffer.from(text).toString('latin1'))
  const lost = ['M?ori', 'k\ufffdrero']
  const files = {
    'courses.csv': `id,title\n${[...right, ...misread, ...lost].map((text, at) => `${at},${text}\n`).join('')}`,
  }
  const { summary, findings } = await check(files, { definition })
  expect(findings.map(({ line, errorType }) => [line, errorType])).toEqual(
    [7, 8, 9, 10, 11].map((line) => [line, 'Warning']),
  )
  expect(findings[3]?.errorDescription).toBe(
    'title has a question mark in "M?ori", where a letter was probably lost: enter it again, or export the data again as UTF-8.',
  )
  expect(findings[0]?.errorDescription).toContain('which was probably "kōrero"')
  expect(advise(summary)).toEqual([
    'title: 3 of 10 values have characters that were decoded wrongly. Export the data again as UTF-8.',
    'title: 2 of 10 values have probably lost letters, such as those with macrons. Export the data again as UTF-8, or enter the values again.',
  ])
  const { groups, read } = await fix(toInputs(files), definition)
  expect(groups).toMatchObject([{ field: 'title', count: 3 }])
  expect(read('courses.csv').toString()).toContain('6,wānanga\n')
})
