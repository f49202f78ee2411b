import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'
import { runMeasured } from '../support/measured.ts'

const FULL = process.env.MAHI_TEST_FULL === '1'
const [RECORDS, ENTRIES] = FULL ? [100_000, 1_000_000] : [10_000, 100_000]
if (!FULL) {
  process.stderr.write(
    `REDUCED: memory is measured on ${RECORDS} records and ${ENTRIES} entries, a tenth: MAHI_TEST_FULL=1 takes all\n`,
  )
}

/** The most memory that a command may take, in bytes. */
const MOST = 300_000_000

/** Runs a command that must succeed, and returns its output and peak memory in bytes. */
async function measure(mahi: Installation, parameters: readonly string[], input: Readable) {
  const { code, stdout, stderr, peak } = await runMeasured(mahi, [...parameters, '--json', '-'], { input })
  expect([code, stderr]).toEqual([0, ''])
  return { summary: JSON.parse(stdout), peak }
}

/** NDJSON in pieces, as long as it is. */
function generate(count: number, make: (index: number) => object): Readable {
  return Readable.from(
    (function* () {
      let text = ''
      for (let index = 0; index < count; index++) {
        text += `${JSON.stringify(make(index))}\n`
        if (text.length < 65_536 && index < count - 1) continue
        yield text
        text = ''
      }
    })(),
  )
}

const record = (title: string) => (index: number) => ({
  // Not in their order: each lands somewhere else.
  occupationCode: `C${(index * 7919) % RECORDS}`,
  titleEnglish: title,
  descriptionEnglish: `${index} `.repeat(2000).slice(0, 3900),
  minorGroups: [
    {
      minorGroupRelationType: 'Primary',
      minorGroup: { code: `${index % 100}`, majorGroups: [{ majorGroup: { code: `${index % 10}` } }] },
    },
  ],
})

test(`an import of ${RECORDS} records of 4 KB, and of as many changes, takes less than 300 MB`, {
  timeout: 600_000,
}, async () => {
  const mahi = new Installation({ inProcesses: true })
  expect(JSON.stringify(record('Old')(1)).length).toBeGreaterThan(4000)
  const first = await measure(mahi, ['occupations', 'import'], generate(RECORDS, record('Old')))
  expect(first.summary).toMatchObject({ created: RECORDS })
  expect(first.peak).toBeLessThan(MOST)
  const second = await measure(mahi, ['occupations', 'import'], generate(RECORDS, record('New')))
  expect(second.summary).toMatchObject({ updated: RECORDS })
  expect(second.peak).toBeLessThan(MOST)
})

test(`a publish of ${ENTRIES} entries takes less than 300 MB`, { timeout: 600_000 }, async () => {
  const mahi = new Installation({ inProcesses: true })
  const entry = (index: number) => ({
    localId: `L${index}`,
    errorCode: `E${index % 10}`,
    errorDescription: 'The date lies outside the period of the course.',
    errorType: 'Error',
    fileType: 'Enrolment',
    courseCode: `C${index % 1000}`,
    studentId: `S${index}`,
    recordText: `ENR|S${index}|C${index % 1000}|20260131|20261231|Q1104|15|0.1250`,
  })
  const parameters = ['results', 'publish', '--eid', '1001', '--return', 'R1']
  const { summary, peak } = await measure(mahi, parameters, generate(ENTRIES, entry))
  expect(summary).toMatchObject({ totalCount: ENTRIES })
  expect(peak).toBeLessThan(MOST)
})
