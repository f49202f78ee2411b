import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readChanges, readLatest, TokenExpired } from '../src/catalogue/history/changes.ts'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { Database, Reader } from '../src/foundation/database/database.ts'
import { exportText, mapLines, replaceCode, returnTo } from './support/opened.ts'
import { cases } from './support/properties.ts'
import { Service, sourceOf } from './support/service.ts'

interface Change {
  change: 'created' | 'updated' | 'removed'
  occupationCode: string
  record?: { occupationCode: string; titleEnglish?: string }
  removedDate?: string
  replacedBy?: string[]
}
interface Changes {
  next?: string
  delta?: string
  totalCount: number
  changes: Change[]
  resultsCount: number
}

const record = (number: number, title = 'A title') => ({
  occupationCode: `O${number}`,
  titleEnglish: title,
})
const records = (...numbers: number[]) => numbers.map((number) => record(number))

async function ask(service: Service, query: Record<string, string | number> = {}) {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, `${value}`] as [string, string]),
  )
  return await service.get(`/v1/occupations/changes?${search}`)
}

async function read(service: Service, query: Record<string, string | number> = {}): Promise<Changes> {
  const response = await ask(service, query)
  expect(response.statusCode).toBe(200)
  return response.json()
}

const latest = async (service: Service) => (await read(service, { Since: 'latest' })).delta ?? ''
const brief = ({ changes }: Changes) =>
  changes.map(({ change, occupationCode }) => `${change} ${occupationCode}`)

const exported = async (database: Database) => mapLines(await exportText(database))

describe('what a token leads to', () => {
  test('created, updated and removed codes, each once and in its newest state', async () => {
    const service = await Service.start()
    await service.import(records(1, 2, 3))
    const since = await latest(service)
    await service.import([record(1, 'Uno'), record(4)])
    await service.import([record(1, 'Eins'), record(3), record(4)], { replace: true })
    await replaceCode(service.database, 'O2', ['O1', 'O4'])
    await service.revisions.refresh()

    const page = await read(service, { Since: since })
    expect(page).toEqual({
      delta: expect.any(String),
      totalCount: 3,
      revision: 4,
      digest: expect.any(String),
      resultsCount: 3,
      changes: [
        {
          change: 'created',
          occupationCode: 'O4',
          record: { ...record(4), lastUpdatedDate: expect.any(String) },
        },
        {
          change: 'updated',
          occupationCode: 'O1',
          record: { ...record(1, 'Eins'), lastUpdatedDate: expect.any(String) },
        },
        {
          change: 'removed',
          occupationCode: 'O2',
          removedDate: expect.any(String),
          replacedBy: ['O1', 'O4'],
        },
      ],
    })
    expect(await read(service, { Since: page.delta ?? '' })).toMatchObject({ resultsCount: 0, totalCount: 3 })
    // A token may be used again.
    expect(await read(service, { Since: since })).toEqual(page)
  })

  test('a code that came and went since the token is not reported, and one that came back is updated', async () => {
    const service = await Service.start()
    await service.import(records(1, 2))
    const since = await latest(service)
    await service.import(records(1, 9), { replace: true })
    await service.import([record(1), record(2, 'Again')], { replace: true })
    expect(brief(await read(service, { Since: since }))).toEqual(['updated O2'])
  })

  test('a first load without removed codes, page by page, with links', async () => {
    const service = await Service.start()
    await service.import(records(1, 2, 3, 4, 5))
    await service.import(records(1, 2, 4, 5), { replace: true })
    const response = await ask(service, { Limit: 2 })
    const first = response.json<Changes>()
    expect(brief(first)).toEqual(['created O1', 'created O2'])
    expect(first.delta).toBeUndefined()
    const link = /^<(.*)>; rel="next"$/.exec(String(response.headers.link))?.[1] ?? ''
    const last = (await service.get(link)).json<Changes>()
    expect(brief(last)).toEqual(['created O4', 'created O5'])
    expect(last.next).toBeUndefined()
    expect(last.delta).toBe(await latest(service))
  })

  test('a removal during a first load is reported, for its page may have been read', async () => {
    const service = await Service.start()
    await service.import(records(1, 2, 3))
    const first = await read(service, { Limit: 1 })
    await service.import(records(2, 3), { replace: true })
    const rest = await read(service, { Since: first.next ?? '' })
    expect(brief(rest)).toEqual(['created O2', 'created O3', 'removed O1'])
  })

  test('an ETag of the state: 304 until the catalogue changes', async () => {
    const service = await Service.start()
    await service.import(records(1))
    const url = `/v1/occupations/changes?Since=${await latest(service)}`
    const first = await service.get(url)
    const etag = String(first.headers.etag)
    expect((await service.get(url, { 'if-none-match': etag })).statusCode).toBe(304)
    await service.import(records(1, 2))
    expect((await service.get(url, { 'if-none-match': etag })).statusCode).toBe(200)
    const head = await service.request({ method: 'HEAD', url, headers: { 'x-api-key': service.key } })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })
})

describe('a token that is not valid gets 410 and the location of the snapshot', () => {
  const assertGone = async (service: Service, token: string) => {
    const response = await ask(service, { Since: token })
    expect(response.statusCode).toBe(410)
    expect(response.headers.location).toBe('/v1/occupations/snapshot')
    expect(response.json()).toMatchObject({ type: '/problems/gone', status: 410 })
  }

  test('one that is malformed or was tampered with', async () => {
    const service = await Service.start()
    await service.import(records(1, 2))
    const token = await latest(service)
    const [payload = '', check = ''] = token.split('.')
    const next = (await read(service, { Limit: 1 })).next ?? ''
    for (const bad of [
      'x',
      `${payload}.`,
      `.${check}`,
      `${payload}.${check}x`,
      `${next.split('.')[0]}.${check}`,
      `${Buffer.from('[1,0,1,0,"\\u0000"]').toString('base64url')}.${check}`,
      `${payload}.${'Ā'.repeat(16)}`,
    ])
      await assertGone(service, bad)
    expect((await ask(service, { Since: 'x'.repeat(1025) })).statusCode).toBe(400)
  })

  test('one of another installation with the same history', async () => {
    const one = await Service.start()
    const other = await Service.start()
    for (const service of [one, other]) await service.import(records(1))
    await assertGone(other, await latest(one))
  })

  test('one from before a restore, even when the numbers have caught up', async () => {
    const service = await Service.start()
    await service.import(records(1))
    const kept = await latest(service)
    const number = service.revisions.current.catalogue.number
    await service.import(records(1, 2))
    const lost = await latest(service)
    // As a restore of the backup from before the second import leaves it.
    await returnTo(service.database, number)
    await service.database.write('catalogue', async (writer) => {
      await writer.run('delete from catalogue_revision where number > $1', [number])
      await writer.run('delete from occupation_past')
      await writer.run('delete from occupation_removed')
      await writer.run("update revision set number = $1 where name = 'catalogue'", [number])
    })
    await service.revisions.refresh()
    await assertGone(service, lost)
    await service.import(records(1, 3))
    await assertGone(service, lost)
    expect(brief(await read(service, { Since: kept }))).toEqual(['created O3'])
  })

  test('one that is older than the history', async () => {
    const service = await Service.start()
    await service.import(records(1))
    const old = await latest(service)
    const next = (await read(service, { Limit: 1 })).delta ?? ''
    for (const title of ['a', 'b', 'c'])
      await service.import([record(1, title)], { retention: { historyDays: -1 } })
    await assertGone(service, old)
    await assertGone(service, next)
  })
})

/** Reads a database, and calls `interrupt` before one of the reads. */
function interruptedBefore(read: number, database: Database, interrupt: () => Promise<void>): Reader {
  let reads = 0
  const begin = async () => {
    if (++reads === read) await interrupt()
  }
  return {
    dialect: database.dialect,
    all: async (sql, parameters) => {
      await begin()
      return await database.all(sql, parameters)
    },
    get: async (sql, parameters) => {
      await begin()
      return await database.get(sql, parameters)
    },
  }
}

describe.each([1, 2, 3, 4, 5])('a change during a request, before its read %i, hides no removal', (read) => {
  test('imports after which the base is too old', async () => {
    const change = async (database: Database) => {
      for (const kept of [records(1, 4), records(1, 4, 5), records(1)])
        await importOccupations(database, sourceOf(kept), { replace: true, retention: { historyDays: -1 } })
    }
    const service = await Service.start()
    const { database } = service
    await service.import(records(1, 2, 3))
    const since = await readLatest(database)
    await service.import(records(1, 2, 3, 4))
    const reader = interruptedBefore(read, database, () => change(database))
    const copy = new Set(['O1', 'O2', 'O3'])
    let token = since.delta ?? ''
    try {
      for (let request = 0; request < 9; request++) {
        const { changes, next, delta = '' } = await readChanges(reader, { token }, 2)
        for (const { code, document } of changes) {
          if (document === undefined) copy.delete(code)
          else copy.add(code)
        }
        token = next ?? delta
      }
      expect([...copy].sort()).toEqual([...(await exported(database)).keys()].sort())
    } catch (error) {
      // The reader loads the snapshot.
      expect(error).toBeInstanceOf(TokenExpired)
    }
  })
})

/** A reader that keeps a copy from the change feed alone. */
class Follower {
  readonly #service: Service
  readonly copy = new Map<string, string>()
  token: string | undefined
  done = false

  constructor(service: Service) {
    this.#service = service
  }

  async readPage(limit: number): Promise<void> {
    const page = await read(this.#service, {
      Limit: limit,
      ...(this.token === undefined ? {} : { Since: this.token }),
    })
    for (const { change, occupationCode, record } of page.changes) {
      if (change === 'removed') this.copy.delete(occupationCode)
      else this.copy.set(occupationCode, JSON.stringify(record))
    }
    this.token = page.next ?? page.delta
    this.done = page.next === undefined
  }

  async catchUp(limit: number): Promise<void> {
    do await this.readPage(limit)
    while (!this.done)
  }
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('import' as const),
    numbers: fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 12 }),
    title: fc.constantFrom('One', 'Two', 'Three'),
    replace: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('page' as const), limit: fc.integer({ min: 1, max: 5 }) }),
)

test('a reader that follows any history, with pages that span imports, has what the source has', async () => {
  const service = await Service.start()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const reader = new Follower(service)
      for (const each of steps) {
        if (each.kind === 'page') await reader.readPage(each.limit)
        else
          await service.import(
            each.numbers.map((number) => record(number, each.title)),
            { replace: each.replace },
          )
      }
      await reader.catchUp(3)
      expect(new Map([...reader.copy].sort())).toEqual(
        new Map([...(await exported(service.database))].sort()),
      )
    }),
    cases(12),
  )
})
