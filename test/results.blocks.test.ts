import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Sealer } from '../src/foundation/database/seal.ts'
import { reencryptRuns } from '../src/submissions/encryption/reencrypt-findings.ts'
import { packTexts, Unpacked } from '../src/submissions/findings/blocks.ts'
import { readDetails, readJoined } from '../src/submissions/findings/read-findings.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { Service } from './support/service.ts'
import { storeInRows } from './support/stored-findings.ts'

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

/** A return in which nearly every record has a fault, as the check writes it. */
const findings = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    localId: `E${1_000_000 + index}`,
    errorCode: `ENR-${10 + (index % 7)}-pattern`,
    errorDescription: `eftsMonth0${index % 7} is "${index}.5", but must have the form [0-9]{1,2}.`,
    errorType: index % 3 === 0 ? 'Warning' : 'Error',
    fileType: 'Enrolment',
    courseCode: `C${index % 40}`,
    studentId: `S${index % 500}`,
    recordText: `E${1_000_000 + index},S${index % 500},C${index % 40},24022025,04072025,,G1,685.00,FT,0.0417,0.0417,${index}.5,0.0417,0.0417,0.0417,0.0417`,
    file: 'enrolments.csv',
    line: index + 2,
    field: `eftsMonth0${index % 7}`,
    value: `${index}.5`,
    findingKey: Buffer.from(`${index * 7919}-${index}`)
      .toString('base64url')
      .padEnd(22, 'x'),
    cause: `column:enrolments.eftsMonth0${index % 7}`,
  }))

const KEY = { id: 'k1', key: Buffer.alloc(32, 3) }

test('a run in rows, as an older version stores it, and one in blocks read alike, and blocks take less than a third', async () => {
  const service = await Service.start()
  const entries = findings(1_000)
  const { submissionToken: token, runId: blocks } = await service.publish(entries)
  await storeInRows(service.database)
  const { runId: rows } = await service.publish(entries, { token })
  const sizeOf = async (sql: string, run: number) => {
    const row = await service.database.get<{ bytes: number }>(sql, [run])
    return Number(row?.bytes)
  }
  const inBlocks = await sizeOf(
    'select sum(length(content)) as bytes from result_block where run = $1',
    blocks,
  )
  const inRows = await sizeOf(
    'select sum(length(document) + length(detail)) as bytes from result_entry where run = $1',
    rows,
  )
  expect(await sizeOf('select count(*) as bytes from result_block where run = $1', rows)).toBe(0)
  expect(inBlocks).toBeLessThan(inRows / 3)

  const sealer = new Sealer()
  const read = (run: number, wanted: readonly number[]) =>
    Promise.all([
      readJoined(service.database, run, wanted, sealer).then((documents) => documents?.toString()),
      readDetails(service.database, { run }, wanted, sealer),
    ])
  for (const wanted of [[0], [19, 20], [3, 700, 701, 999], Array.from({ length: 130 }, (_, at) => 870 + at)])
    expect(await read(rows, wanted)).toEqual(await read(blocks, wanted))
  // The run in rows, the current one, over HTTP.
  const path = `/v1/submissions/${token}/validation-results`
  const page = await service.get(`${path}?page=10&pageSize=100`, { eid: '1001' })
  expect(page.json().results).toHaveLength(100)
  const changes = await service.get(`${path}/changes?from=1`, { eid: '1001' })
  expect(changes.json()).toMatchObject({ newCount: 0, fixedCount: 0, openCount: 1_000 })
})

test.each(['blocks', 'rows'])(
  'findings in %s are encrypted again, and read alike before and after',
  async (form) => {
    const database = await openTemporary()
    if (form === 'rows') await storeInRows(database)
    const { publishResults } = await import('../src/submissions/findings/publish.ts')
    const { sourceOf } = await import('./support/source.ts')
    const { runId: run } = await publishResults(database, sourceOf(findings(1_050)), {
      eid: '1001',
      returnId: 'R1',
      token: 'encrypted-again',
    })
    const wanted = Array.from({ length: 50 }, (_, at) => 1_000 + at)
    const read = async (sealer: Sealer) => (await readJoined(database, run, wanted, sealer))?.toString()
    const before = await read(new Sealer())
    const sealer = new Sealer([KEY])
    // A process that is killed has encrypted a part of them.
    let writes = 0
    const failing = new Proxy(database, {
      get(target, name) {
        if (name === 'write' && ++writes > 2) throw new Error('killed')
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    await expect(reencryptRuns(failing, sealer)).rejects.toThrow('killed')
    expect(await read(sealer)).toBe(before)
    expect(await reencryptRuns(database, sealer)).toBe(1)
    expect(await read(sealer)).toBe(before)
    const students = await database.all<{ value: string }>(
      `select value from result_posting where field = 'studentId'`,
    )
    expect(students.filter(({ value }) => value.length < 22)).toEqual([])
    await expect(read(new Sealer())).rejects.toThrow('"k1"')
    expect(await reencryptRuns(database, sealer)).toBe(0)
  },
)
