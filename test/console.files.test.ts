import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { Containers } from '../src/engines/checking/engine/unpack.ts'
import { selectFiles } from '../src/engines/checking/select-files.ts'
import { define } from './support/definition.ts'
import { pack } from './support/pack.ts'
import { writeFiles } from './support/temporary.ts'
import { makeXlsx } from './support/xlsx.ts'

interface Item {
  readonly name: string
  readonly records?: number
  readonly problem?: string
  readonly notes?: readonly string[]
  readonly content?: () => Promise<Blob>
}

const script = (name: string) => new URL(`../src/console/public/${name}.js`, import.meta.url).href
const { inspect, recognise } = (await import(script('look-into'))) as {
  inspect(file: File, kinds: object): Promise<readonly Item[]>
  recognise(item: Item, kinds: object): string
}

const KINDS = [
  {
    file: 'learners',
    title: 'Learners',
    names: ['learners', 'LEAR'],
    columns: ['localId', 'studentId', 'dateOfBirth'],
  },
  {
    file: 'courses',
    title: 'Course register',
    names: ['courses', 'Course register'],
    columns: ['localId', 'code'],
  },
]

/** What the page shows of a file: each table in it, its records, and what it is taken for. */
async function look(name: string, content: string | Buffer) {
  const items = await inspect(new File([new Uint8Array(Buffer.from(content))], name), KINDS)
  return items.map((item) => [
    item.name,
    item.problem ?? item.records,
    item.problem ? undefined : recognise(item, KINDS),
  ])
}

const LEARNERS = 'localId,Student ID,date_of_birth\r\n1,2,3\r\n"4\r\n",5,6\r\n\r\n'

test('a table is recognised by its columns first, whatever it is called and however it is written', async () => {
  for (const content of [
    LEARNERS,
    `\ufeff${LEARNERS}`,
    LEARNERS.replaceAll(',', ';').replaceAll('\r\n', '\r'),
    Buffer.from(`\ufeff${LEARNERS}`, 'utf16le'),
    gzipSync(LEARNERS),
    '{"localId":"1","studentId":"2","dateOfBirth":""}\n{"localId":"1"}\n',
  ])
    expect(await look('courses.csv', content)).toEqual([['courses.csv', 2, 'learners']])
  // Then by its name, in any spelling; otherwise a person says it.
  for (const [name, kind] of [
    ['SDR Dec 2025 - Learners.csv', 'learners'],
    ['2025 FINAL course-register v2.csv', 'courses'],
    ['export.csv', ''],
  ] as const)
    expect(await look(name, 'a,b\n1,2\n')).toEqual([[name, 1, kind]])
})

test('mahi check recognises a table as the page does: by its columns first, and by its name second', async () => {
  const definition = loadDefinition(
    define(
      Object.fromEntries(
        KINDS.map(({ file, title, columns }) => [
          file,
          { fields: columns.map((name) => ({ name })), resource: { title } },
        ]),
      ),
    ),
  )
  for (const [name, content] of [
    ['SDR 2025.csv', LEARNERS],
    ['export.csv', 'localId;code\n1;2\n'],
    ['SDR Dec 2025 - Learners.csv', 'a,b\n1,2\n'],
    ['2025 FINAL course-register v2.csv', 'a,b\n1,2\n'],
    ['lines.ndjson', '{"localId":"1","studentId":"2","dateOfBirth":""}\n'],
    ['notes.csv', 'a,b\n1,2\n'],
  ] as const) {
    const [[, , kind] = []] = await look(name, content)
    const files = { 'z.csv': 'a\n', [name]: content }
    const chosen = () =>
      selectFiles(new Containers(), [writeFiles(files)], definition).then(({ files }) =>
        files.map(({ resource }) => resource),
      )
    if (kind === '') await expect(chosen()).rejects.toThrow('has none of the files')
    else expect([name, await chosen()]).toEqual([name, [kind]])
  }
})

test('each sheet of a workbook and each file of an archive is a table, and is sent alone', async () => {
  const workbook = makeXlsx({
    'Notes &amp; more': [['For people']],
    'Sheet 2': [['All learners'], ['localId', 'studentId', 'dateOfBirth'], ['1', '2', '3'], ['', '', '']],
  })
  expect(await look('jobs.xlsx', workbook)).toEqual([
    ['jobs.xlsx/Notes & more', 0, ''],
    ['jobs.xlsx/Sheet 2', 1, 'learners'],
  ])
  const [, second] = await inspect(new File([new Uint8Array(workbook)], 'jobs.xlsx'), KINDS)
  expect(second?.notes).toEqual([expect.stringContaining('The first line is not the header.')])
  const content = (await second?.content?.()) ?? new Blob()
  const alone = Buffer.from(await content.arrayBuffer())
  expect(await look('alone.xlsx', alone)).toEqual([['alone.xlsx/Sheet 2', 1, 'learners']])
  const archive = await pack({
    'a/learners.csv': LEARNERS,
    'a/jobs.xlsx': alone,
    '__MACOSX/._learners.csv': 'x',
    'a/~$learners.xlsx': 'a lock',
    'Thumbs.db': 'x',
  })
  expect((await look('all.zip', Buffer.from(archive))).toSorted()).toEqual([
    ['all.zip/a/jobs.xlsx/Sheet 2', 1, 'learners'],
    ['all.zip/a/learners.csv', 2, 'learners'],
  ])
})

test('the summary of a marked workbook and the list of changes are no part of the return; another sheet of that name may be', async () => {
  const summary = { Summary: [['3 errors'], ['a', 'b']] }
  const learners = [
    ['mahi:line', 'mahi:severity', 'mahi:findings', 'localId', 'studentId', 'dateOfBirth'],
    ['2', '', '', '1', '2', '3'],
  ]
  expect(await look('marked.xlsx', makeXlsx({ ...summary, Learners: learners }))).toEqual([
    ['marked.xlsx/Summary', 1, '-'],
    ['marked.xlsx/Learners', 1, 'learners'],
  ])
  expect(await look('own.xlsx', makeXlsx(summary))).toEqual([['own.xlsx/Summary', 1, '']])
  const corrected = await pack({ 'mahi-changes.csv': 'file,line\na,1\n' })
  expect(await look('back.zip', Buffer.from(corrected))).toEqual([['back.zip/mahi-changes.csv', 1, '-']])
})

test('what cannot be read says what it is, and what to do', async () => {
  for (const [content, problem] of [
    ['', 'It is empty.'],
    ['%PDF-1.7', 'It is a PDF. Export'],
    [Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'Save it as XLSX without a password.'],
    [Buffer.from([1, 2, 0, 3]), 'It is not a table.'],
    [Buffer.from(await pack({ mimetype: 'x', 'content.xml': 'x' })), 'It is an OpenDocument file (.ods).'],
    [Buffer.from(await pack({ 'Index/Document.iwa': 'x' })), 'It is a Numbers file.'],
  ] as const)
    expect(await look('a', content)).toEqual([['a', expect.stringContaining(problem), undefined]])
  // Excel writes it beside a workbook that is open.
  expect(await look('~$learners.xlsx', 'a lock')).toEqual([
    ['~$learners.xlsx', 'It is a hidden file of a program, without data.', undefined],
  ])
})
