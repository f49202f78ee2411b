import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { formatNumber } from '../../src/foundation/text/format-number.ts'
import { Installation } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { packed, repeated, streamOf } from '../support/hostile.ts'
import { runMeasured } from '../support/measured.ts'
import { readState } from '../support/state.ts'

const FULL = process.env.MAHI_TEST_FULL === '1'
/** The length of what is too long, in bytes, and of what is too many, in lines. */
const [BYTES, LINES] = FULL ? [2 ** 31, 10_000_000] : [2 ** 22, 25_000]
if (!FULL) process.stderr.write(`REDUCED: bad input of ${BYTES} bytes: npm run bad-data takes ${2 ** 31}\n`)

/** The most memory that a command may take, in bytes. */
const MOST = 400_000_000

const TOKEN = 'submission-1'
const IMPORT = ['occupations', 'import', '--replace']
const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', TOKEN]

/** Runs a command over an installation that holds something: its first message, if it has stored nothing. */
async function refuse(parameters: readonly string[], input: Readable | string): Promise<string> {
  const mahi = await new Installation().fill([{ occupationCode: 'OLD', titleEnglish: 'Old' }])
  await mahi.run([...PUBLISH, '-'], { input: '{"localId":"OLD"}\n' })
  const read = async () => {
    const { revisions, ...state } = await withDatabase(mahi.databaseUrl, readState)
    // A publish that fails has used up the number of a run.
    return { ...state, revisions: { ...revisions, run: undefined } }
  }
  const before = await read()
  const { code, stdout, stderr, peak } = await runMeasured(mahi, [...parameters, '-'], { input })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/\nNothing was stored: (?:1 fault|(?:more than )?100 faults)\..*\n$/)
  expect(peak).toBeLessThan(MOST)
  expect(await read()).toEqual(before)
  return stderr.split('\n', 1)[0] ?? ''
}

const TOO_LONG = 'longer than 1048576 bytes'
const record = '{"localId":"A"}\n'
const columns = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`).join()

// Both commands read with the same readers.
test.each<[what: string, input: () => Readable, fault: string]>([
  [
    'an endless line of NDJSON',
    () => streamOf(repeated('x', BYTES, `${record}{"localId":"`, '"}\n')),
    `-:2: is ${TOO_LONG}. Each line must hold one record`,
  ],
  [
    'an endless text in JSON',
    () => streamOf(repeated('x', BYTES, `[${record},\n{"localId":"`, '"}]')),
    `-:3: begins a record that is ${TOO_LONG}`,
  ],
  [
    'an endless cell',
    () => streamOf(repeated('x', BYTES, 'localId\nA\n', '\n')),
    '-:3: The record is longer than 1024 KiB. A closing quote may be missing',
  ],
  [
    'a quote that is not closed',
    () => streamOf(repeated('x,y\n', BYTES, 'localId\nA\n"')),
    '-:3: A quote that opens in this record, on line 3, is not closed',
  ],
  [
    'a gzip bomb behind a record',
    () => packed(repeated(' ', BYTES, record)),
    `-:2: is ${TOO_LONG}. Each line must hold one record`,
  ],
  [
    'lines of a number',
    () => streamOf(repeated('1\n', 2 * LINES, record)),
    '-:2: must be an object, not a number',
  ],
  [
    'many columns',
    () => streamOf([Buffer.from(`localId,${columns(140_000)}`)]),
    '-:1: names the unknown column "c0"',
  ],
])('%s is refused within the memory', async (_, input, fault) => {
  expect(await refuse(PUBLISH, input())).toBe(fault)
})

test('lines with the same code, and a record in too many groups, are refused', async () => {
  const lines = streamOf(repeated('1\n', 2 * LINES, 'occupationCode\n'))
  expect(await refuse(IMPORT, lines)).toBe('-:3: occupationCode: repeats "1" of -:2')
  const codes = Array.from({ length: 15_000 }, (_, index) => String(index))
  const majorGroups = codes.map((code) => ({ majorGroup: { code } }))
  const minorGroups = codes.map((code, index) => ({
    minorGroup: { code, ...(index === 0 && { majorGroups }) },
  }))
  expect(await refuse(IMPORT, JSON.stringify({ occupationCode: 'A', minorGroups }))).toContain(
    '-:1: minorGroups: has more than 10000 combinations of a major and a minor group',
  )
})

test(`${LINES} lines of one byte are as many entries, also from a file`, async () => {
  const mahi = new Installation()
  await pipeline(
    streamOf(repeated('1\n', 2 * LINES, 'localId\n')),
    createWriteStream(join(mahi.folder, 'a.csv')),
  )
  const { code, stderr, peak } = await runMeasured(mahi, [...PUBLISH, 'a.csv'])
  rmSync(join(mahi.folder, 'a.csv'))
  expect([code, stderr]).toEqual([0, expect.stringContaining(`: ${formatNumber(LINES)} entries.`)])
  expect(peak).toBeLessThan(MOST)
})
