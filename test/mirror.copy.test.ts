import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkMirror, mirrorOccupations } from '../src/mirror/mirror.ts'
import { createSource, type FetchPage } from '../src/mirror/source.ts'
import { exportOccupations } from '../src/occupations/export.ts'
import { Service } from './support/service.ts'
import { temporaryFolder } from './support/temporary.ts'

class Interrupted extends Error {}

/** A service that listens, a folder for its mirror, and the two runs that tests do. */
async function startMirrored() {
  const service = await Service.start()
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const folder = temporaryFolder()
  const source = createSource(url, service.key)
  return {
    service,
    folder,
    source,
    mirror: (fetchPage: FetchPage = source) => mirrorOccupations({ url, folder, fetchPage }),
    check: () => checkMirror({ url, folder, fetchPage: source }),
    copy: () => readFileSync(join(folder, 'occupations.ndjson'), 'utf8'),
    /** The whole catalogue as a full fetch would give it. */
    truth: async () => {
      let text = ''
      await exportOccupations(service.database, 'ndjson', async (part) => {
        text += part
      })
      return text
    },
  }
}

/** Fetches so many pages and is then cut off, as by a crash. */
function interruptAfter(pages: number, source: FetchPage): FetchPage {
  let left = pages
  return async (query) => {
    if (left-- <= 0) throw new Interrupted()
    return await source(query)
  }
}

/** Counts the requests, and the records that they carried. */
function counting(source: FetchPage) {
  const used = { requests: 0, records: 0 }
  const fetchPage: FetchPage = async (query) => {
    const page = await source(query)
    used.requests++
    used.records += page.records.length
    return page
  }
  return { used, fetchPage }
}

const record = (number: number, title = 'A title') => ({
  occupationCode: `O${String(number).padStart(5, '0')}`,
  titleEnglish: title,
  minorGroups: [{ minorGroupRelationType: 'Primary', minorGroup: { code: `M${number % 7}` } }],
})

test('the first run fetches everything, and the next only what changed', async () => {
  const { service, source, mirror, copy, truth } = await startMirrored()
  await service.import(Array.from({ length: 450 }, (_, number) => record(number)))
  expect(await mirror()).toEqual({ added: 450, changed: 0, removed: 0, total: 450 })
  expect(copy()).toBe(await truth())

  await service.import([record(7, 'Another title'), record(900)])
  const { used, fetchPage } = counting(source)
  expect(await mirror(fetchPage)).toEqual({ added: 1, changed: 1, removed: 0, total: 451 })
  expect(copy()).toBe(await truth())
  expect(used).toEqual({ requests: 2, records: 3 })
})

test('a page that is older than the first one is not taken, nor what it lacks for seen', async () => {
  const { service, mirror, source, copy, truth } = await startMirrored()
  const records = Array.from({ length: 250 }, (_, number) => record(number))
  await service.import(records)
  const old = await source({ limit: 100, cursor: 'O00100' })
  const changed = [
    record(0, 'Another'),
    ...records.slice(1, 150),
    record(150, 'Another'),
    ...records.slice(151),
  ]
  await service.import(changed)
  let stale = true
  // The second page comes from a standby that lags.
  const lagging: FetchPage = async (query) => {
    if (query.cursor !== 'O00100' || !stale) return await source(query)
    stale = false
    return old
  }
  await mirror(lagging)
  expect(stale).toBe(false)
  expect(copy()).toBe(await truth())
})

test('records that were deleted are found by totals, without fetching everything', async () => {
  const { service, source, mirror, copy, truth } = await startMirrored()
  for (let part = 0; part < 10; part++) {
    await service.import(Array.from({ length: 400 }, (_, number) => record(part * 400 + number)))
  }
  await mirror()
  const kept = Array.from({ length: 4000 }, (_, number) => number).filter(
    (number) => ![5, 1717, 3999].includes(number),
  )
  await service.import(
    kept.map((number) => record(number)),
    { replace: true },
  )

  const { used, fetchPage } = counting(source)
  expect(await mirror(fetchPage)).toEqual({ added: 0, changed: 0, removed: 3, total: 3997 })
  expect(copy()).toBe(await truth())
  expect(used.records).toBeLessThan(1000)
})

test('records without groups and of one date are told apart as well', async () => {
  const { service, mirror, copy, truth } = await startMirrored()
  const bare = (number: number) => ({ occupationCode: `B${String(number).padStart(5, '0')}` })
  await service.import(Array.from({ length: 700 }, (_, number) => bare(number)))
  await mirror()
  await service.import(
    Array.from({ length: 699 }, (_, number) => bare(number)),
    { replace: true },
  )
  expect(await mirror()).toMatchObject({ removed: 1, total: 699 })
  expect(copy()).toBe(await truth())
})

test('a catalogue that became empty leaves an empty copy', async () => {
  const { service, mirror, copy } = await startMirrored()
  await service.import([record(1)])
  await mirror()
  await service.database.write('catalogue', async (writer) => {
    for (const table of ['occupation', 'occupation_posting', 'occupation_date'])
      await writer.run(`delete from ${table}`)
    await writer.run('update occupation_filter set total = 0')
    await writer.run("update revision set number = number + 1 where name = 'catalogue'")
  })
  await service.revisions.refresh()
  expect(await mirror()).toEqual({ added: 0, changed: 0, removed: 1, total: 0 })
  expect(copy()).toBe('')
})

test('whatever imports ran and wherever mirrors were cut off, the copy ends as a full fetch', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          {
            weight: 3,
            arbitrary: fc.record({
              kind: fc.constant('import' as const),
              numbers: fc.uniqueArray(fc.nat(400), { minLength: 1, maxLength: 300 }),
              title: fc.constantFrom('One', 'Two', 'Three'),
              replace: fc.boolean(),
            }),
          },
          { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut off' as const), pages: fc.nat(6) }) },
          { weight: 1, arbitrary: fc.record({ kind: fc.constant('mirror' as const) }) },
          {
            weight: 2,
            arbitrary: fc.record({
              kind: fc.constant('import during a mirror' as const),
              numbers: fc.uniqueArray(fc.nat(400), { minLength: 1, maxLength: 300 }),
              after: fc.nat(4),
              replace: fc.boolean(),
            }),
          },
        ),
        { minLength: 1, maxLength: 8 },
      ),
      async (steps) => {
        const { service, source, mirror, check, copy, truth } = await startMirrored()
        for (const step of steps) {
          if (step.kind === 'import') {
            await service.import(
              step.numbers.map((number) => record(number, step.title)),
              { replace: step.replace },
            )
          } else if (step.kind === 'cut off') {
            await mirror(interruptAfter(step.pages, source)).catch((error: unknown) => {
              if (!(error instanceof Interrupted)) throw error
            })
          } else if (step.kind === 'mirror') {
            await mirror()
            expect(copy()).toBe(await truth())
          } else {
            let left = step.after
            await mirror(async (query) => {
              if (left-- === 0) {
                await service.import(
                  step.numbers.map((number) => record(number, 'Meanwhile')),
                  { replace: step.replace },
                )
              }
              return await source(query)
            })
          }
        }
        const summary = await mirror()
        expect(copy()).toBe(await truth())
        expect(summary.total).toBe(copy() === '' ? 0 : copy().trimEnd().split('\n').length)
        expect(await check()).toMatchObject({ added: 0, changed: 0, removed: 0 })
      },
    ),
    { numRuns: 25 },
  )
}, 120_000)

test('a copy whose last line was cut off by a crash of the first fetch is gone on with', async () => {
  const { service, folder, source, mirror, copy, truth } = await startMirrored()
  await service.import(Array.from({ length: 350 }, (_, number) => record(number)))
  await expect(mirror(interruptAfter(2, source))).rejects.toThrow(Interrupted)
  const part = join(folder, 'occupations.ndjson.part')
  writeFileSync(part, readFileSync(part).subarray(0, -50))

  const { used, fetchPage } = counting(source)
  await mirror(fetchPage)
  expect(copy()).toBe(await truth())
  expect(used.records).toBeLessThan(350)
})

test('a check tells what differs and writes nothing', async () => {
  const { service, folder, mirror, check, copy } = await startMirrored()
  await service.import([record(1), record(2), record(3)])
  await mirror()
  const lines = copy().trimEnd().split('\n')
  const tampered = `${[lines[0], lines[1]?.replace('A title', 'A tale'), '{"occupationCode":"Z","lastUpdatedDate":"2020-01-01T00:00:00.000Z"}'].join('\n')}\n`
  writeFileSync(join(folder, 'occupations.ndjson'), tampered)
  expect(await check()).toEqual({ added: 1, changed: 1, removed: 1, total: 3 })
  expect(copy()).toBe(tampered)
})

test('another service in the same folder is fetched anew', async () => {
  const { service, folder, mirror } = await startMirrored()
  await service.import([record(1)])
  await mirror()
  const other = await startMirrored()
  await other.service.import([record(2)])
  await mirrorOccupations({ url: 'http://other.example', folder, fetchPage: other.source })
  expect(readFileSync(join(folder, 'occupations.ndjson'), 'utf8')).toBe(await other.truth())
})
