import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { zip } from '@cj-tech-master/excelts/archive'
import { expect, test } from 'vitest'
import { splitRecord } from '../../src/engines/records/index.ts'
import { sweep } from '../../src/submissions/retention/sweep.ts'
import { pack } from '../support/pack.ts'
import { SDR_FILES } from '../support/sdr/file-types.ts'
import { startSubmissions } from '../support/submissions.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { makeXlsx } from '../support/xlsx.ts'

const SAMPLES = join(import.meta.dirname, '../../samples/sdr')
const read = (name: string, folder = 'as-exported') => readFileSync(join(SAMPLES, folder, `${name}.csv`))

const ZIP = 'application/zip'
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

interface StoredFile {
  readonly file: string
  readonly records: number
  readonly sha256: string
  readonly notes?: readonly string[]
}

async function start(settings: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder()
  const { service, createCaller } = await startSubmissions('sdr', { CHECK_FOLDER: folder, ...settings })
  const { ask, create } = await createCaller('sender', ['1001'])
  const token = await create()
  const put = (content: Uint8Array, type = ZIP, path = '', headers = {}) =>
    ask('PUT', `/submissions/${token}/files${path}`, Buffer.from(content), {
      'content-type': type,
      ...headers,
    })
  const stored = async () => (await ask('GET', `/submissions/${token}`)).body.files as StoredFile[]
  /** What is left in the folder for temporary files. */
  const left = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return { service, ask, token, put, stored, left }
}

/** The rows of a CSV file whose cells have no line ends. */
function toRows(name: string): string[][] {
  const lines = read(name, 'clean').toString().trim().split('\n')
  return lines.map((line) => splitRecord(line, ',') ?? [])
}

const workbook = (sheets: readonly string[]) =>
  makeXlsx(Object.fromEntries(sheets.map((name) => [name, toRows(name)])))

test('five files in one ZIP archive become the files of a submission, byte for byte', async () => {
  const { put, stored, left, token, ask } = await start()
  const content = Object.fromEntries(SDR_FILES.map((name) => [`my return/${name}.csv`, read(name, 'clean')]))
  const response = await put(
    await pack({ ...content, '__MACOSX/._learners.csv': 'x', 'my return/.DS_Store': 'x' }),
  )
  expect(response.status).toBe(200)
  const { files } = response.body as { files: StoredFile[] }
  const digests = SDR_FILES.map((name) => createHash('sha256').update(read(name, 'clean')).digest('hex'))
  expect(files.map(({ sha256 }) => sha256).sort()).toEqual(digests.sort())
  expect((await stored()).map(({ file }) => file).sort()).toEqual([...SDR_FILES].sort())
  const { bytes } = await ask('GET', `/submissions/${token}/files/learners`)
  expect(bytes.equals(read('learners', 'clean'))).toBe(true)
  expect(left()).toEqual([])
})

test('notes say how a file was recognised and what was not read, and stay with the files', async () => {
  const { put, stored } = await start()
  const latin = Buffer.from(
    read('courses', 'clean')
      .toString()
      .replace(/,"?[A-Z][a-z]+/, ',Caf\u00e9'),
    'latin1',
  )
  const content = {
    'Learners.csv': read('learners', 'clean'),
    'course register.csv': latin,
    'notes.csv': 'a,b\n',
  }
  const { files } = (await put(await pack(content))).body as { files: StoredFile[] }
  expect(files.map(({ file, notes }) => [file, notes])).toEqual([
    [
      'learners',
      [
        'The file archive.zip/course register.csv was read as courses.csv, because its name is the title Course register.',
        'archive.zip/notes.csv was not read: it is no file of the definition sdr.',
      ],
    ],
    ['courses', ['The file was read as Windows-1252, because it is not UTF-8.']],
  ])
  expect((await stored()).map(({ notes }) => notes?.length).sort()).toEqual([1, 2])
})

test('one file may arrive as an archive or as a workbook, whatever the name in it', async () => {
  const { put, stored } = await start()
  const archive = await pack({ 'Export of Monday.csv': read('learners', 'clean') })
  expect((await put(archive, ZIP, '/learners.zip')).body).toMatchObject({ file: 'learners', records: 400 })
  // The content decides, not the name of its type.
  const sheet = makeXlsx({ Sheet1: toRows('courses') })
  expect((await put(sheet, 'text/csv', '/courses.xlsx')).body).toMatchObject({
    file: 'courses',
    records: 40,
  })
  const several = await put(workbook(['learners', 'courses']), XLSX, '/courses')
  expect([several.status, several.body.detail]).toEqual([
    400,
    'courses.xlsx/learners is the file learners, not courses: send an archive or a workbook of several files as a whole.',
  ])
  expect(await stored()).toHaveLength(2)
  // What is not in an archive stays.
  expect((await put(workbook(['enrolments', 'courses']), XLSX)).status).toBe(200)
  const records = (await stored()).map((each) => [each.file, each.records])
  expect(Object.fromEntries(records)).toEqual({
    learners: 400,
    courses: 40,
    enrolments: toRows('enrolments').length - 1,
  })
})

test('conditions and digests hold for archives too', async () => {
  const { put, stored } = await start()
  const archive = Buffer.from(await pack({ 'learners.csv': read('learners') }))
  const digest = createHash('sha256').update(archive).digest('base64')
  const sent = { 'content-digest': `sha-256=:${digest}:` }
  expect((await put(archive, ZIP, '', sent)).status).toBe(200)
  const wrong = await put(await pack({ 'courses.csv': 'x' }), ZIP, '', sent)
  expect([wrong.status, wrong.body.detail]).toEqual([
    400,
    'Content-Digest does not match the content that arrived.',
  ])
  expect((await put(archive, ZIP, '/learners', { 'if-none-match': '*' })).status).toBe(412)
  expect(await stored()).toHaveLength(1)
})

/** Marks the one entry of an archive as encrypted. */
function encrypt(archive: Uint8Array): Buffer {
  const bytes = Buffer.from(archive)
  for (const [signature, flags] of [
    ['PK\u0003\u0004', 6],
    ['PK\u0001\u0002', 8],
  ] as const)
    bytes.writeUInt16LE(1, bytes.indexOf(signature, 0, 'latin1') + flags)
  return bytes
}

const LEARNERS = read('learners')

test('an archive that cannot be read as a whole is refused by name, and nothing of it is stored', async () => {
  const { put, stored, left, service } = await start()
  for (const [archive, reason] of [
    [
      await pack({ 'learners.csv': LEARNERS, '../courses.csv': 'x' }),
      'archive.zip/../courses.csv is outside of the archive.',
    ],
    [
      (await pack({ 'learners.csv': LEARNERS, 'courses.csv': read('courses') })).subarray(0, 5000),
      'archive.zip is not a ZIP archive, or is damaged: pack it again.',
    ],
    [
      await pack({ 'learners.csv': LEARNERS, 'learners.ndjson': '{}' }),
      /^archive\.zip\/learners\.\w+ is Learners, and so is archive\.zip\/learners\.\w+; leave one of them out\.$/,
    ],
    [
      encrypt(await pack({ 'learners.csv': LEARNERS })),
      'archive.zip/learners.csv is encrypted: unpack it first.',
    ],
    [
      await pack({ 'learners.csv': LEARNERS, 'courses.xlsx': 'PK\u0003\u0004' }),
      'archive.zip/courses.xlsx is not a spreadsheet in the XLSX format, or is damaged.',
    ],
  ] as const) {
    const response = await put(archive)
    expect([400, 415]).toContain(response.status)
    expect(response.body.detail).toMatch(reason)
  }
  expect(await stored()).toEqual([])
  await sweep(service.database)
  expect(await service.database.all('select version from file_version')).toEqual([])
  expect(left()).toEqual([])
  // The files can be changed again at once.
  expect((await put(await pack({ 'learners.csv': LEARNERS }))).status).toBe(200)
})

test('an archive that unpacks to more than an upload may have is refused', async () => {
  const { put, stored, left } = await start({ UPLOAD_MAX_MB: '1' })
  const bomb = await pack({ 'learners.csv': new Uint8Array(5e7) })
  expect(bomb.length).toBeLessThan(100_000)
  // Each of two files may be as large, but not both.
  const both = await pack(
    Object.fromEntries(['learners', 'courses'].map((name) => [`${name}.csv`, new Uint8Array(600_000)])),
  )
  for (const archive of [bomb, both]) {
    const response = await put(archive)
    expect([response.status, response.body.detail]).toEqual([
      400,
      'archive.zip unpacks to more than 1048576 bytes.',
    ])
  }
  expect([await stored(), left()]).toEqual([[], []])
})

test('what is neither an archive nor a workbook is refused by its content', async () => {
  const { put } = await start()
  for (const [content, path] of [
    ['localId\n1\n', ''],
    ['localId\n1\n', '/learners'],
    ['', ''],
  ] as const) {
    const response = await put(Buffer.from(content), ZIP, path)
    expect([response.status, response.body.detail]).toEqual([
      415,
      expect.stringContaining(
        'The content is neither a ZIP archive nor a workbook in the format XLSX. Send any other file separately, as the file that it is.',
      ),
    ])
  }
  const old = await put(Buffer.from('\u00d0\u00cf\u0011\u00e0', 'latin1'), 'text/csv', '/learners')
  expect(old.body.detail).toBe(
    'learners: The file is an Excel workbook in the old format (XLS), or one with a password, not CSV or NDJSON. Save it as XLSX without a password.',
  )
  const pdf = await put(Buffer.from('%PDF-1.7'), 'text/csv', '/learners')
  expect(pdf.body.detail).toBe(
    'learners: The file is a PDF document, not CSV or NDJSON. Export the table from the program that made it, as CSV or XLSX.',
  )
  const ods = await zip()
    .add('mimetype', 'application/vnd.oasis.opendocument.spreadsheet', { level: 0 })
    .add('content.xml', '<a/>', { level: 0 })
    .bytes()
  for (const [path, name] of [
    ['/courses', 'courses: The file'],
    ['', 'The content'],
  ] as const) {
    const { status, body } = await put(ods, path === '' ? ZIP : 'text/csv', path)
    expect([status, body.detail]).toEqual([415, `${name} is a spreadsheet (ODS). Save it as XLSX or CSV.`])
  }
})
