import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { formatNumber } from '../../src/foundation/text/format-number.ts'
import { InstallationHere } from '../support/command-here.ts'
import { withDatabase } from '../support/filled-database.ts'
import { packed, repeated, streamOf } from '../support/hostile.ts'
import { runMeasured } from '../support/measured.ts'
import { readState } from '../support/state.ts'

const FULL = process.env.MAHI_TEST_FULL === '1'
/** The length of what is too long, in bytes, and of what is too many, in lines. */
const [BYTES, LINES] = FULL ? [2 ** 31, 10_000_000] : [2 ** 22, 25_000]
if (!FULL) {
  process.stderr.write(
    `REDUCED: bad input of ${BYTES} bytes and ${LINES} lines, to a publish alone: npm run test:long -- bad-data takes ${2 ** 31} and 10000000\n`,
  )
}

/** The most memory that a command may take, in bytes. */
const MOST = 400_000_000

const TOKEN = 'submission-1'
const COMMANDS = {
  import: { parameters: ['occupations', 'import', '--replace'], field: 'occupationCode' },
  publish: {
    parameters: ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', TOKEN],
    field: 'localId',
  },
} as const

/** An installation that holds something, and what it holds. */
async function install() {
  const mahi = await new InstallationHere().fill([{ occupationCode: 'OLD', titleEnglish: 'Old' }])
  await mahi.run([...COMMANDS.publish.parameters, '-'], { input: '{"localId":"OLD"}\n' })
  const read = async () => {
    const { revisions, ...state } = await withDatabase(mahi.databaseUrl, readState)
    // A publish that fails has used up the number of a run.
    return { ...state, revisions: { ...revisions, run: undefined } }
  }
  return { mahi, read }
}

const report: string[] = []
/** Prints what was measured, when all has been. */
function note(name: string, { peak, took }: { peak: number; took: number }): void {
  report.push(`${name}: ${Math.round(peak / 1e6)} MB, ${(took / 1000).toFixed(1)} s`)
  onTestFinished(() => {
    if (FULL) process.stderr.write(`${report.splice(0).join('\n')}\n`)
  })
}

/** Columns that a CSV file of ten thousand has. */
const MANY_COLUMNS = Array.from({ length: 10_000 }, (_, index) => `column${index}`).join()

const TOO_LONG = 'longer than 1048576 bytes'

// Both commands read with the same readers.
describe.each(Object.entries(COMMANDS).slice(FULL ? 0 : 1))('%s', (name, { parameters, field }) => {
  const object = `{"${field}":"A"}\n`

  /** What comes through standard input, and the one fault that is to be named. */
  const streams: [string, () => Readable, string][] = [
    [
      'an endless line of NDJSON',
      () => streamOf(repeated('x', BYTES, `${object}{"${field}":"`, '"}\n')),
      `-:2: is ${TOO_LONG}. Each line must hold one record`,
    ],
    [
      'an endless text in JSON',
      () => streamOf(repeated('x', BYTES, `[${object},\n{"${field}":"`, '"}]')),
      `-:3: begins a record that is ${TOO_LONG}`,
    ],
    [
      'an endless cell',
      () => streamOf(repeated('x', BYTES, `${field}\nA\n`, '\n')),
      '-:3: The record is longer than 1024 KiB. A closing quote may be missing',
    ],
    [
      'a quote that is not closed',
      () => streamOf(repeated('x,y\n', BYTES, `${field}\nA\n"`)),
      '-:3: A quote that opens in this record, on line 3, is not closed',
    ],
    [
      'a gzip bomb of zeros',
      () => packed(repeated('\0', BYTES)),
      `-:1: is ${TOO_LONG}. Each line must hold one record`,
    ],
    [
      'a gzip bomb behind a record',
      () => packed(repeated(' ', BYTES, object)),
      `-:2: is ${TOO_LONG}. Each line must hold one record`,
    ],
    [
      'spaces before a list',
      () => streamOf(repeated(' ', BYTES, '', '[1')),
      `-:1: is ${TOO_LONG}. Each line must hold one record`,
    ],
    [
      'spaces after a list',
      () => streamOf(repeated(' ', BYTES, `[${object}]`, 'x')),
      '-:2: Data follows the end of the list',
    ],
    [
      'lists in lists without end',
      () => streamOf(repeated('[', BYTES)),
      `-:1: begins a record that is ${TOO_LONG}`,
    ],
    [
      'objects in objects without end',
      () => streamOf(repeated('{"a":', BYTES)),
      `-:1: is ${TOO_LONG}. Each line must hold one record`,
    ],
  ]
  test.each(streams)('%s is refused', { timeout: 600_000 }, async (what, input, fault) => {
    const { mahi, read } = await install()
    const before = await read()
    const begun = performance.now()
    const { code, stdout, stderr, peak } = await runMeasured(mahi, [...parameters, '-'], { input: input() })
    note(`${name}, ${what}`, { peak, took: performance.now() - begun })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(new RegExp(`^${fault}\nNothing was stored: 1 fault\\.\n$`))
    expect(peak).toBeLessThan(MOST)
    expect(await read()).toEqual(before)
  })

  test('a gzip bomb of empty lines is an input without records', { timeout: 600_000 }, async () => {
    const { mahi } = await install()
    const begun = performance.now()
    const { code, stderr, peak } = await runMeasured(mahi, [...parameters, '-'], {
      input: packed(repeated('\n', Math.max(BYTES / 8, 2 ** 21))),
    })
    note(`${name}, a gzip bomb of empty lines`, { peak, took: performance.now() - begun })
    expect([code, stderr]).toEqual(
      name === 'import'
        ? [
            1,
            expect.stringContaining('--replace: with an empty input, this would delete the whole catalogue.'),
          ]
        : [0, expect.stringContaining('is an entry, so the run reports that nothing was found.')],
    )
    expect(peak).toBeLessThan(MOST)
  })

  /** Files with very many lines, and how what is said of them begins. */
  const files: [string, Iterable<Buffer>, string][] = [
    ['x.ndjson', repeated('x\n', 2 * LINES), "x.ndjson:1: is not JSON \\(Unexpected token 'x'\\)\n"],
    ['one.ndjson', repeated('1\n', 2 * LINES), 'one.ndjson:1: must be an object, not (?:1|a number)\n'],
    [
      'one.json',
      repeated('1,\n', 3 * LINES, '[\n', '1]'),
      'one.json:2: must be an object, not (?:1|a number)\n',
    ],
    [
      'x.csv',
      repeated('x\n', 2 * LINES),
      'x.csv:1: The header row has no known column. Expected names such as \\w+\n',
    ],
    [
      'cells.csv',
      repeated('a,b\n', 4 * LINES, `${field}\n`),
      'cells.csv:2: has 2 cells, and the header row has 1 column\n',
    ],
    [
      'empty.csv',
      repeated('\r\n', 2 * LINES),
      'empty.csv: The file is empty. The first line of a CSV file must name its columns\n',
    ],
    [
      'empty.json',
      repeated('\n', LINES),
      'empty.json: The file is empty. A JSON file without records must contain an empty list, \\[\\]\n',
    ],
    [
      'columns.csv',
      [Buffer.from(`${field},${MANY_COLUMNS}\n`)],
      'columns.csv:1: names the unknown column "column0"\n',
    ],
    [
      'more-columns.csv',
      [Buffer.from(`${field},${Array.from({ length: 140_000 }, (_, index) => `c${index}`).join()}`)],
      'more-columns.csv:1: names the unknown column "c0"\n',
    ],
    [
      'cells-of-a-row.csv',
      [Buffer.from(`${field}\n${MANY_COLUMNS}\n`)],
      'cells-of-a-row.csv:2: has 10,000 cells',
    ],
  ]
  test.each(files)(
    '%s, of very many lines or columns, is refused',
    { timeout: 600_000 },
    async (file, content, fault) => {
      const { mahi, read } = await install()
      const before = await read()
      await pipeline(streamOf(content), createWriteStream(join(mahi.folder, file)))
      const begun = performance.now()
      const { code, stdout, stderr, peak } = await runMeasured(mahi, [...parameters, file])
      note(`${name}, ${file}`, { peak, took: performance.now() - begun })
      rmSync(join(mahi.folder, file))
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(new RegExp(`^${fault}`))
      expect(stderr).toMatch(/\nNothing was stored: (?:1 fault|(?:more than )?100 faults)\..*\n$/)
      expect(peak).toBeLessThan(MOST)
      expect(await read()).toEqual(before)
    },
  )
})

test(`${LINES} lines of one byte are as many entries`, { timeout: 600_000 }, async () => {
  const { mahi } = await install()
  const input = streamOf(repeated('1\n', 2 * LINES, 'localId\n'))
  const begun = performance.now()
  const { code, stderr, peak } = await runMeasured(mahi, [...COMMANDS.publish.parameters, '-'], { input })
  note(`publish, ${LINES} lines of one byte`, { peak, took: performance.now() - begun })
  expect([code, stderr]).toEqual([0, expect.stringContaining(`: ${formatNumber(LINES)} entries.`)])
  expect(peak).toBeLessThan(MOST)
})

test(`${LINES} lines with the same code are refused as duplicates`, { timeout: 600_000 }, async () => {
  const { mahi, read } = await install()
  const before = await read()
  const input = streamOf(repeated('1\n', 2 * LINES, 'occupationCode\n'))
  const begun = performance.now()
  const { code, stderr, peak } = await runMeasured(mahi, [...COMMANDS.import.parameters, '-'], { input })
  note(`import, ${LINES} lines of one byte`, { peak, took: performance.now() - begun })
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^-:3: occupationCode: repeats "1" of -:2\n/)])
  expect(peak).toBeLessThan(MOST)
  expect(await read()).toEqual(before)
})

test('a record in too many groups is refused', async () => {
  const { mahi, read } = await install()
  const before = await read()
  const record = (count: number) => {
    const codes = Array.from({ length: count }, (_, index) => String(index))
    const majorGroups = codes.map((code) => ({ majorGroup: { code } }))
    const minorGroups = codes.map((code, index) => ({
      minorGroup: { code, ...(index === 0 && { majorGroups }) },
    }))
    return JSON.stringify({ occupationCode: 'A', minorGroups })
  }
  const parameters = [...COMMANDS.import.parameters, '-']
  for (const count of [100, 15_000]) {
    expect(record(count).length).toBeLessThan(2 ** 20)
    const { code, stderr, peak } = await runMeasured(mahi, parameters, { input: record(count) })
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        '-:1: minorGroups: has more than 10000 combinations of a major and a minor group',
      ),
    ])
    expect(peak).toBeLessThan(MOST)
  }
  expect(await read()).toEqual(before)
  expect(await mahi.run(parameters, { input: record(99) })).toMatchObject({ code: 0 })
  expect((await read()).catalogue.size).toBe(1)
})

describe('invalid text and invalid records are refused with their place', () => {
  const utf16 = (text: string) => Buffer.from(text, 'utf16le')
  const cases: [string, string, string | Buffer, string][] = [
    [
      'UTF-16 with a mark',
      'a.ndjson',
      utf16('\ufeff{"localId":"A"}\n'),
      'a.ndjson: The file is UTF-16. Save it as UTF-8',
    ],
    [
      'UTF-16 without one',
      'a.ndjson',
      utf16('{"localId":"A"}\n'),
      'a.ndjson: The file is UTF-16. Save it as UTF-8',
    ],
    [
      'UTF-16 of the other end',
      'a.csv',
      utf16('localId\nA\n').swap16(),
      'a.csv: The file is UTF-16. Save it as UTF-8',
    ],
    [
      'two byte order marks',
      'a.csv',
      '\ufeff\ufefflocalId\nA\n',
      'a.csv:1: names the unknown column "\\ufefflocalId" (did you mean "localId"?)',
    ],
    [
      'invalid UTF-8',
      'a.csv',
      Buffer.from('localId\nA\ncaf\xe9\n', 'latin1'),
      'a.csv:3: localId: is not valid UTF-8. Save the file as UTF-8, which Excel calls "CSV UTF-8"',
    ],
    [
      'a surrogate in UTF-8',
      'a.ndjson',
      Buffer.from('{"localId":"\xed\xa0\xbd"}\n', 'latin1'),
      'a.ndjson:1: is not UTF-8. Save the file as UTF-8',
    ],
    [
      'half a surrogate pair',
      'a.ndjson',
      '{"localId":"\\ud83d"}\n',
      'a.ndjson:1: localId: has an unpaired surrogate, which is not valid Unicode',
    ],
    [
      'half a surrogate pair in a name',
      'a.ndjson',
      '{"\\ud83d":1}\n',
      'a.ndjson:1: has the unknown field "\\ud83d"',
    ],
    [
      'NUL in JSON',
      'a.ndjson',
      '{"localId":"A\\u0000"}\n',
      'a.ndjson:1: localId: has the control character U+0000',
    ],
    ['NUL in CSV', 'a.csv', 'localId\nA\0\n', 'a.csv:2: localId: has the control character U+0000'],
    [
      'NUL as it is',
      'a.ndjson',
      '{"localId":"A\0"}\n',
      'a.ndjson:1: is not JSON (Bad control character in string literal)',
    ],
    [
      'carriage returns alone in CSV',
      'a.csv',
      'localId,courseCode\rA,B\r',
      'a.csv:1: Lines end with a bare carriage return. Use LF or CRLF',
    ],
    [
      'carriage returns alone in NDJSON',
      'a.ndjson',
      '{"localId":"A"}\r{"localId":"B"}\r',
      'a.ndjson:1: Lines end with a bare carriage return. Use LF or CRLF',
    ],
    [
      '__proto__ in a record',
      'a.ndjson',
      '{"localId":"A","__proto__":{"polluted":1}}\n',
      'a.ndjson:1: has the unknown field "__proto__"',
    ],
    [
      'names of every object',
      'a.json',
      '[{"constructor":{"prototype":{"polluted":1}}}]',
      'a.json:1: has the unknown field "constructor"',
    ],
    [
      '__proto__ as a column',
      'a.csv',
      'localId,__proto__.polluted\nA,1\n',
      'a.csv:1: names the unknown column "__proto__.polluted"',
    ],
    [
      'toString as a column',
      'a.csv',
      'localId,toString\nA,1\n',
      'a.csv:1: names the unknown column "toString"',
    ],
    [
      'a number beyond all',
      'a.ndjson',
      '{"localId":1e400}\n',
      'a.ndjson:1: localId: must be text, not a number',
    ],
    [
      'nesting a hundred thousand deep',
      'a.ndjson',
      `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}\n`,
      'a.ndjson:1: has the unknown field "a"',
    ],
    [
      'lists a hundred thousand deep',
      'a.json',
      `[${'['.repeat(100_000)}${']'.repeat(100_000)}]`,
      'a.json:1: must be an object, not a list',
    ],
    [
      'a gzip that was cut off',
      'a.ndjson.gz',
      gzipSync('{"localId":"A"}\n'.repeat(1000)).subarray(0, 60),
      'a.ndjson.gz: The gzip file is damaged or truncated',
    ],
    [
      'something after a gzip',
      'a.ndjson.gz',
      Buffer.concat([gzipSync('{"localId":"A"}\n'), Buffer.from('x')]),
      'a.ndjson.gz: The gzip file is damaged or truncated',
    ],
    [
      'something after a gzip and zeros',
      'a.ndjson.gz',
      Buffer.concat([gzipSync('{"localId":"A"}\n'), Buffer.alloc(9), gzipSync('{"localId":"B"}\n')]),
      'a.ndjson.gz: Data follows the end of the gzip stream',
    ],
    [
      'a gzip in a gzip',
      'a.ndjson.gz',
      gzipSync(gzipSync('{"localId":"A"}\n')),
      'a.ndjson.gz:1: is not UTF-8. Save the file as UTF-8',
    ],
  ]
  test('by a publish', { timeout: 120_000 }, async () => {
    const { mahi, read } = await install()
    const before = await read()
    for (const [what, file, content, fault] of cases) {
      mahi.write(file, content)
      const { code, stdout, stderr } = await mahi.run([...COMMANDS.publish.parameters, file])
      expect([what, code, stdout]).toEqual([what, 1, ''])
      expect([what, stderr.split('\n')[0]]).toEqual([what, fault])
    }
    expect(await read()).toEqual(before)
  })
})

test('unusual but valid input is read', async () => {
  const { mahi } = await install()
  const publish = async (file: string, content: string | Buffer) => {
    mahi.write(file, content)
    const { code, stderr } = await mahi.run([...COMMANDS.publish.parameters, file])
    expect([file, code, stderr]).toEqual([file, 0, expect.stringContaining('Published')])
    return await mahi.results(TOKEN)
  }
  const entry = '{"localId":"A"}\n'
  const zeros = Buffer.alloc(512)
  expect(await publish('zeros.ndjson.gz', Buffer.concat([gzipSync(entry), zeros]))).toHaveLength(1)
  const members = Array.from({ length: 500 }, (_, index) => gzipSync(`{"localId":"${index}"}\n`))
  expect(await publish('members.ndjson.gz', Buffer.concat([...members, gzipSync('')]))).toHaveLength(500)
  expect(await publish('ratio.ndjson.gz', gzipSync(entry.repeat(50_000)))).toHaveLength(50_000)
  // Where a name comes twice the last one counts, as in every JavaScript.
  expect(await publish('twice.ndjson', '{"localId":"A","localId":"B"}\n')).toEqual([{ localId: 'B' }])
  expect(await publish('values.ndjson', '{"localId":"__proto__","errorCode":"constructor"}\n')).toEqual([
    { localId: '__proto__', errorCode: 'constructor' },
  ])
})
