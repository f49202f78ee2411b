import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createClient } from '../client/src/index.ts'
import { type MirrorOptions, mirrorOccupations } from '../src/remote/mirror.ts'
import { parseLines } from './support/lines.ts'
import { exportText } from './support/opened.ts'
import { cases, SCALE } from './support/properties.ts'
import { Service } from './support/service.ts'
import { temporaryFolder } from './support/temporary.ts'

class Interrupted extends Error {}

type Occupations = MirrorOptions['occupations']

/** A service that listens, a folder for its mirror, and the runs that tests do. */
async function startMirrored() {
  const service = await Service.start()
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const folder = temporaryFolder()
  const path = join(folder, 'occupations.ndjson')
  const { occupations } = createClient({ baseUrl: url, apiKey: service.key, cachedPages: 0 })
  return {
    service,
    url,
    folder,
    path,
    occupations,
    mirror: (options: Partial<MirrorOptions> = {}) =>
      mirrorOccupations({ url, folder, occupations, ...options }),
    copy: () => readFileSync(path, 'utf8'),
    /** The whole catalogue. */
    truth: () => exportText(service.database),
  }
}

/** Gives so many lines of a snapshot, and is then cut off, as by a crash. */
function interruptAfter(lines: number, occupations: Occupations): Occupations {
  return {
    snapshot: async (options) => {
      const snapshot = await occupations.snapshot(options)
      async function* cut() {
        let left = lines
        for await (const line of snapshot.lines()) {
          if (left-- <= 0) throw new Interrupted()
          yield line
        }
        throw new Interrupted()
      }
      return { ...snapshot, lines: cut }
    },
  }
}

const record = (number: number, title = 'A title') => ({
  occupationCode: `O${String(number).padStart(5, '0')}`,
  titleEnglish: title,
})
const range = (count: number) => Array.from({ length: count }, (_, number) => record(number))

test('the first run fetches the catalogue, and a later one only if it has changed', async () => {
  const { service, path, mirror, copy, truth } = await startMirrored()
  await service.import(range(450))
  expect(await mirror()).toEqual({ revision: 1, total: 450, changed: true, file: path })
  expect(copy()).toBe(await truth())

  const { ino, mtimeMs } = statSync(path)
  expect(await mirror()).toEqual({ revision: 1, total: 450, changed: false, file: path })
  expect(statSync(path)).toMatchObject({ ino, mtimeMs })

  await service.import([...range(449).slice(8), record(7, 'Another title'), record(900)], { replace: true })
  expect(await mirror()).toMatchObject({ revision: 2, total: 443, changed: true })
  expect(copy()).toBe(await truth())
})

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('import' as const),
      numbers: fc.uniqueArray(fc.nat(120), { minLength: 1, maxLength: 80 }),
      title: fc.constantFrom('One', 'Two', 'Three'),
      replace: fc.boolean(),
      oldDates: fc.boolean(),
      /** While a run reads the snapshot. */
      meanwhile: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut off' as const), lines: fc.nat(120) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('mirror' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('damage' as const), at: fc.nat(10_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const) }) },
)

test('whatever the imports and wherever runs were cut off, the copy is one revision, and ends as the source', async () => {
  const { service, folder, path, occupations, mirror, copy, truth } = await startMirrored()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      await mirror()
      for (const each of steps) {
        if (each.kind === 'import') {
          const dated = each.oldDates ? { lastUpdatedDate: '2001-01-01T00:00:00.000Z' } : {}
          const change = () =>
            service.import(
              each.numbers.map((number) => ({ ...record(number, each.title), ...dated })),
              { replace: each.replace, keepDates: each.oldDates },
            )
          if (!each.meanwhile) await change()
          else {
            const before = await truth()
            const snapshot: Occupations['snapshot'] = async (options) => {
              const opened = await occupations.snapshot(options)
              await change()
              return opened
            }
            await mirror({ occupations: { snapshot } })
            expect(copy()).toBe(before)
          }
        } else if (each.kind === 'cut off') {
          const before = copy()
          const options = { occupations: interruptAfter(each.lines, occupations) }
          await mirror(options).catch((error: unknown) => {
            if (!(error instanceof Interrupted)) throw error
          })
          expect(copy()).toBe(before)
        } else if (each.kind === 'mirror') {
          await mirror()
          expect(copy()).toBe(await truth())
        } else if (each.kind === 'damage') {
          const text = copy()
          const at = each.at % (text.length + 1)
          writeFileSync(path, `${text.slice(0, at)}#${text.slice(at + 1)}`)
        } else {
          writeFileSync(join(folder, 'mirror.json'), '')
        }
      }
      const { total } = await mirror()
      expect(copy()).toBe(await truth())
      expect(total).toBe(copy().split('\n').length - 1)
    }),
    // The cases share a service, so a smaller case would begin with another history.
    { ...cases(SCALE > 1 ? 20 : 10), endOnFailure: true },
  )
})

test('a run that is killed between the copy and its state is repaired by the next', async () => {
  const { service, folder, path, mirror, copy, truth } = await startMirrored()
  const state = join(folder, 'mirror.json')
  await service.import(range(30))
  await mirror()
  const old = { copy: copy(), state: readFileSync(state, 'utf8') }
  await service.import([record(3, 'Another')])
  await mirror()
  writeFileSync(state, old.state)
  // The new copy with the old state: the ETag of the old one is not sent.
  expect(await mirror()).toMatchObject({ changed: true })
  expect(copy()).toBe(await truth())
  writeFileSync(path, old.copy)
  expect(await mirror()).toMatchObject({ changed: true })
  expect(copy()).toBe(await truth())
})

test('each other form is that of the current copy', async () => {
  const { service, folder, mirror, copy } = await startMirrored()
  const json = () => JSON.parse(readFileSync(join(folder, 'occupations.json'), 'utf8')) as object[]
  // The line separator of Unicode is not escaped in JSON, and ends no line of NDJSON.
  await service.import([...range(3), { occupationCode: 'X', descriptionEnglish: 'One\u2028two' }])
  expect(await mirror({ format: 'json' })).toMatchObject({ file: join(folder, 'occupations.json') })
  expect(json()).toEqual(parseLines(copy()))
  // The change arrives in a run without the form.
  await service.import([record(1, 'Changed')])
  await mirror()
  expect(await mirror({ format: 'json' })).toMatchObject({ changed: false })
  expect(json()).toEqual(parseLines(copy()))
})

test('only the owner can read the files of a copy', async () => {
  const { service, folder, mirror } = await startMirrored()
  await service.import(range(3))
  await mirror({ format: 'csv' })
  const modes = readdirSync(folder).map((file) => [file, statSync(join(folder, file)).mode & 0o777])
  expect(modes).toEqual(modes.map(([file]) => [file, 0o600]))
  expect(modes.map(([file]) => file).sort()).toEqual([
    'mirror.json',
    'mirror.lock',
    'occupations.csv',
    'occupations.ndjson',
  ])
})

test('of runs that begin at once one works, and the others say so', async () => {
  const { service, mirror, copy, truth } = await startMirrored()
  await service.import(range(200))
  const runs = await Promise.allSettled(Array.from({ length: 6 }, () => mirror()))
  const failed = runs.flatMap((run) => (run.status === 'rejected' ? [String(run.reason)] : []))
  expect(failed).toHaveLength(5)
  for (const message of failed) expect(message).toContain('Another process is mirroring into this folder')
  expect(copy()).toBe(await truth())
})
