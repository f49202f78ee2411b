import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Sealer } from '../src/foundation/database/seal.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { exportReturn } from '../src/submissions/returns/export-return.ts'
import { storeReturns } from '../src/submissions/returns/returns.ts'
import { COURSES, makeLearners, startCollection, submitTo } from './support/collection.ts'
import { Installation } from './support/command.ts'
import { temporaryFolder } from './support/temporary.ts'

const DAY = 86_400_000
const digest = (content: string) => createHash('sha256').update(content).digest('hex')

const RETURN = {
  returnId: '202512',
  name: 'December 2025',
  definition: 'collected',
  version: '1.2.0',
  type: 'Full',
  opens: Date.now() - DAY,
  due: Date.now() + DAY,
  closes: Date.now() + 2 * DAY,
  notes: 'Send both files.',
  zone: 'Pacific/Auckland',
} as const

test('a collection goes from the list of returns to a receipt, and again after it was opened again', async () => {
  const { provider, service, createCaller } = await startCollection()
  // The list of returns has more than one page.
  const later = Array.from({ length: 25 }, (_, at) => `20${30 + at}12`)
  await storeReturns(service.database, [
    RETURN,
    ...later.map((returnId) => ({ ...RETURN, returnId, opens: RETURN.opens + 1, notes: 'Wait.' })),
  ])
  const { ask } = provider

  // 1. Which returns are there?
  const list = async () => (await ask('GET', '/returns?pageSize=100')).body.results
  const wanted = (await list()).at(-1)
  expect(wanted).toMatchObject({ returnId: '202512', window: 'Open', returnStatus: 'NotStarted' })
  // 2. A token for one of them; the same call returns the same.
  const token = (await ask('POST', '/submissions', { returnId: wanted.returnId })).body.submissionToken
  expect((await ask('POST', '/submissions', { returnId: wanted.returnId })).body.submissionToken).toBe(token)
  // 3. The files, one with faults.
  await provider.put(token, 'courses', COURSES)
  await provider.put(token, 'learners', makeLearners({ faults: 2, notes: 1 }))
  // 4. A check, what it found, and what to fix.
  expect(await provider.check(token)).toMatchObject({ status: 'Processed', errorCount: 2, warningCount: 1 })
  const { causes } = (await ask('GET', `/submissions/${token}/validation-results/causes`)).body
  expect(causes[0]).toMatchObject({ severity: 'Error', findings: 2 })
  expect((await ask('POST', `/submissions/${token}/submit`)).status).toBe(409)
  // 5. The fix; the warning is right, which somebody explains.
  await provider.put(token, 'learners', makeLearners({ notes: 1 }))
  await provider.check(token)
  expect((await ask('POST', `/submissions/${token}/submit`)).body.detail).toContain('LEA-note')
  await ask('PUT', `/submissions/${token}/explanations/LEA-note`, { reason: 'Verified' })
  // 6. Submitted, with a receipt.
  const { receipt } = (await ask('POST', `/submissions/${token}/submit`)).body
  expect(receipt.returnName).toBe(RETURN.name)
  expect((await ask('GET', `/submissions/${token}`)).body).toMatchObject({
    returnName: RETURN.name,
    notes: RETURN.notes,
    dueDate: new Date(RETURN.due).toISOString(),
  })
  expect(receipt.files.map(({ sha256 }: { sha256: string }) => sha256)).toEqual([
    digest(COURSES),
    digest(makeLearners({ notes: 1 })),
  ])
  expect((await list()).at(-1).returnStatus).toBe('Submitted')
  expect((await provider.put(token, 'courses', COURSES)).status).toBe(409)
  // 7. The agency wants another file, and opens it again.
  const agency = await createCaller('agency', [], ['operate'])
  await agency.ask('POST', `/submissions/${token}/reopen`, { reason: 'The learners are those of 2024.' })
  await provider.put(token, 'learners', makeLearners({ records: 21, notes: 1 }))
  await provider.check(token)
  const second = (await ask('POST', `/submissions/${token}/submit`)).body.receipt
  expect(second).toMatchObject({ receipt: 2, earlier: [{ receipt: 1 }] })
  expect(second.explanations).toHaveLength(1)
  const { results } = (await ask('GET', `/submissions/${token}/activity?pageSize=100`)).body
  expect(results.map(({ event }: { event: string }) => event).reverse()).toEqual([
    ...['Created', 'FileUploaded', 'FileUploaded', 'CheckRequested', 'Checked'],
    ...['FileUploaded', 'CheckRequested', 'Checked', 'Explained', 'Submitted'],
    ...['Reopened', 'FileUploaded', 'CheckRequested', 'Checked', 'Submitted'],
  ])
})

test('the export has what all organisations submitted, by digest, while another one submits', async () => {
  const { service, createCaller } = await startCollection()
  const eids = Array.from({ length: 3 }, (_, at) => String(2001 + at))
  const contents = new Map<string, string>()
  const prepare = async (eid: string, at: number) => {
    const caller = await createCaller(`client-${eid}`, [eid])
    const token = await caller.create()
    const learners = makeLearners({ records: 1 + (at % 7), remarks: at % 3 })
    contents.set(eid, learners)
    await caller.put(token, 'courses', COURSES)
    await caller.put(token, 'learners', learners)
    await caller.check(token)
    return { caller, token }
  }
  const prepared: Awaited<ReturnType<typeof prepare>>[] = []
  for (const [at, eid] of eids.entries()) prepared.push(await prepare(eid, at))
  const late = await prepare('3001', 5)
  for (const { caller, token } of prepared) {
    const submitted = await caller.ask('POST', `/submissions/${token}/submit`)
    expect(submitted.status, submitted.text).toBe(200)
  }

  const output = join(temporaryFolder(), 'december')
  const options = { returnId: '202512', sealer: new Sealer() }
  // Another organisation submits, and one is opened again and changes its file, while the files are written.
  let meanwhile: Promise<unknown> | undefined
  const agency = await createCaller('agency', [], ['operate'])
  const [first] = prepared
  const change = async () => {
    await late.caller.ask('POST', `/submissions/${late.token}/submit`)
    await agency.ask('POST', `/submissions/${first?.token}/reopen`, { reason: 'Again' })
    await first?.caller.put(first.token, 'learners', makeLearners({ records: 3 }))
    await sweep(service.database)
  }
  /** Reads no file before the changes are done. */
  const waiting = <Readable extends object>(reader: Readable): Readable =>
    new Proxy(reader, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'snapshot')
          return (work: (reader: object) => unknown) =>
            value.call(target, (inside: object) => work(waiting(inside)))
        if (name === 'get' || name === 'all')
          return async (sql: string, values: unknown) => {
            if (sql.includes('file_chunk')) meanwhile ??= change()
            await meanwhile
            return await value.call(target, sql, values)
          }
        return value.bind(target)
      },
    })
  const exported = await exportReturn(waiting(service.database), { ...options, output })
  expect(meanwhile).toBeDefined()
  expect(JSON.parse(readFileSync(join(output, 'submitted.json'), 'utf8'))).toEqual(exported)
  expect(exported.organisations.map(({ eid }) => eid)).toEqual(eids)
  for (const { eid, files } of exported.organisations) {
    expect(files.map(({ path }) => path)).toEqual([`${eid}/courses.csv`, `${eid}/learners.csv`])
    expect(files.map(({ sha256 }) => sha256)).toEqual([digest(COURSES), digest(contents.get(eid) ?? '')])
    for (const { path, sha256 } of files)
      expect(digest(readFileSync(join(output, path), 'utf8'))).toBe(sha256)
  }

  // A folder with files is left as it is, and nothing is left of an export that fails.
  await expect(exportReturn(service.database, { ...options, output })).rejects.toThrow('has files')
  const other = join(temporaryFolder(), 'none')
  const nobody = exportReturn(service.database, { ...options, returnId: '202504', output: other })
  await expect(nobody).rejects.toThrow('nobody has submitted the return 202504 yet')
  expect(existsSync(other)).toBe(false)
  // Nor are files exported that are not those of the receipt.
  const changed = eids[1] ?? ''
  await service.database.write('schema', (writer) =>
    writer.run(
      `update submission_file set version = (
         select f.version from submission_file f join submission s on s.token = f.token
         where s.eid = $2 and f.resource = 'learners')
       where resource = 'learners' and token = (select token from submission where eid = $1)`,
      [changed, eids[2] ?? ''],
    ),
  )
  await expect(exportReturn(service.database, { ...options, output: other })).rejects.toThrow(
    `the file learners of organisation ${changed} is not the one of its receipt`,
  )
})

test('mahi returns export writes what was submitted, and leaves no folder behind otherwise', async () => {
  const mahi = new Installation()
  const { provider, definition, service } = await startCollection({}, { url: mahi.databaseUrl })
  const run = (returnId: string, ...more: string[]) =>
    mahi.run(['returns', 'export', returnId, '--output', 'december', ...more], {
      environment: { DEFINITIONS: definition },
    })
  const token = await submitTo(provider)
  const early = await run('202512')
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringContaining('nobody has submitted the return 202512 yet'),
  ])
  expect(existsSync(join(mahi.folder, 'december'))).toBe(false)
  const closes = Date.now() + 86_400_000
  const dates = { opens: 0, due: closes, closes, zone: 'UTC' }
  const collected = { returnId: '202512', name: 'December', definition: 'collected', version: '1.2.0' }
  await storeReturns(service.database, [{ ...collected, type: 'Full', ...dates }])
  const unknown = await run('209912')
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringContaining('the service does not collect the return 209912: "mahi returns list" lists'),
  ])

  await provider.ask('POST', `/submissions/${token}/submit`)
  const { code, stderr } = await run('202512')
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote 2 files of 1 organisation to december.')])
  expect(mahi.read('december/1001/courses.csv')).toBe(COURSES)
  const { organisations } = JSON.parse(mahi.read('december/submitted.json'))
  expect(organisations).toMatchObject([{ eid: '1001', receipt: 1 }])
  // What is there is not replaced, folder or file.
  const again = await run('202512', '--json')
  expect([again.code, JSON.parse(again.stdout).faults]).toEqual([1, [expect.anything()]])
  mahi.write('file', '')
  expect((await run('202512', '--output', 'file')).stderr).toContain('file cannot be written: ')
})
