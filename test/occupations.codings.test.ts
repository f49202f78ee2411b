import { expect, test } from 'vitest'
import { MAX_DECIDED } from '../src/catalogue/codings/decisions.ts'
import { listSources, readStored } from '../src/catalogue/names/names.ts'
import { Service } from './support/service.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]

interface Reviewed {
  id: string
  title: string
  state: string
  occupationCode?: string
  decisions: { reviewer: string; occupationCode?: string; decidedDate: string }[]
}

/** A service, and functions that call it as reviewers. */
async function start() {
  const service = await Service.start()
  await service.import(RECORDS)
  const reviewer = async (client: string) => {
    const { key } = await service.createKey({ client, scopes: ['codings:confirm'] })
    const send = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) =>
      service.request({
        method,
        url: `/v1/confirmed-codings${path}`,
        headers: { 'x-api-key': key },
        ...(payload !== undefined && { payload }),
      })
    return {
      send,
      confirm: async (...items: object[]) => {
        const response = await send('POST', '', { items })
        expect([response.statusCode, response.body]).toEqual([200, expect.any(String)])
        return response.json<{ items: Reviewed[] }>().items
      },
      list: async (query = '') =>
        (await send('GET', query)).json<{ items: Reviewed[]; nextCursor?: string }>(),
    }
  }
  return { service, reviewer }
}

test('a confirmed title has who and when, and is a name from the next revision on', async () => {
  const { service, reviewer } = await start()
  const registry = await reviewer('registry')
  const [kindy] = await registry.confirm(
    { title: 'Kindy  teacher', occupationCode: 'A1' },
    { title: 'Māhita', occupationCode: 'A1', language: 'mi' },
    { title: 'Vibe manager' },
  )
  expect(kindy).toEqual({
    id: expect.any(String),
    title: 'Kindy  teacher',
    language: 'en',
    state: 'confirmed',
    occupationCode: 'A1',
    decisions: [{ reviewer: 'registry', occupationCode: 'A1', decidedDate: expect.stringMatching(/Z$/) }],
  })
  expect((await registry.list()).items.map(({ title, state }) => [title, state])).toEqual([
    ['Kindy  teacher', 'confirmed'],
    ['Māhita', 'confirmed'],
    ['Vibe manager', 'unknown'],
  ])
  expect(await readStored(service.database)).toEqual([])

  await service.import([{ occupationCode: 'C3' }])
  expect(
    (await readStored(service.database)).map(({ code, language, name }) => [code, language, name]),
  ).toEqual([
    ['A1', 'en', 'Kindy  teacher'],
    ['A1', 'mi', 'Māhita'],
  ])
  await service.index()
  const { results } = (await service.get('/v1/occupations/search?q=kindy teacher')).json()
  expect(results[0]).toMatchObject({ occupationCode: 'A1', matchedField: 'searchOnly' })
})

test('a disagreement is shown, teaches nothing, and ends when a reviewer changes or withdraws the decision', async () => {
  const { service, reviewer } = await start()
  const [registry, schools] = [await reviewer('registry'), await reviewer('schools')]
  await registry.confirm({ title: 'Driver', occupationCode: 'B2' })
  const [driver] = await schools.confirm({ title: 'DRIVER ', occupationCode: 'A1' })
  expect(driver).toMatchObject({
    state: 'disputed',
    decisions: [
      { reviewer: 'registry', occupationCode: 'B2' },
      { reviewer: 'schools', occupationCode: 'A1' },
    ],
  })
  expect(driver).not.toHaveProperty('occupationCode')
  await service.import([{ occupationCode: 'C3' }])
  expect(await listSources(service.database)).toEqual([])

  expect((await registry.list('?Filter.State=disputed')).items).toHaveLength(1)
  // Somebody who knows no code disagrees with nobody.
  expect((await schools.confirm({ title: 'Driver' }))[0]).toMatchObject({
    state: 'confirmed',
    occupationCode: 'B2',
  })
  const withdrawn = await registry.send('DELETE', `/${driver?.id}`)
  expect(withdrawn.json()).toMatchObject({
    items: [{ state: 'unknown', decisions: [{ reviewer: 'schools' }] }],
  })
  expect((await registry.send('DELETE', `/${driver?.id}`)).json()).toMatchObject({
    type: '/problems/no-such-decision',
    status: 404,
  })
  expect((await schools.send('DELETE', `/${driver?.id}`)).json()).toEqual({ items: [] })
  expect(await registry.list()).toEqual({ items: [], resultsCount: 0 })
})

test('a withdrawn title is no name from the next revision on, nor is one whose code was removed', async () => {
  const { service, reviewer } = await start()
  const registry = await reviewer('registry')
  const [first] = await registry.confirm(
    { title: 'Kindy teacher', occupationCode: 'A1' },
    { title: 'Trucker', occupationCode: 'B2' },
  )
  await service.import([{ occupationCode: 'C3' }])
  expect(await readStored(service.database)).toHaveLength(2)
  await registry.send('DELETE', `/${first?.id}`)
  await service.import([{ occupationCode: 'A1' }], { replace: true })
  expect(await readStored(service.database)).toEqual([])
  const refused = await registry.send('POST', '', { items: [{ title: 'Lorry', occupationCode: 'B2' }] })
  expect([refused.statusCode, refused.json().detail]).toEqual([
    422,
    'items[0].occupationCode is "B2", no longer in the catalogue. Nothing was stored.',
  ])
  await service.import(RECORDS)
  expect((await readStored(service.database)).map(({ name, source }) => [name, source])).toEqual([
    ['Trucker', 'confirmed'],
  ])
})

test('titles name their codes that are no longer in the catalogue, with successors', async () => {
  const { service, reviewer } = await start()
  const [registry, schools] = [await reviewer('registry'), await reviewer('schools')]
  const trucker = { title: 'Trucker', occupationCode: 'B2' }
  await registry.confirm(trucker, { title: 'Kindy teacher', occupationCode: 'A1' })
  await schools.confirm(trucker)
  await service.import([{ occupationCode: 'C3' }, { occupationCode: 'B2', replacedBy: ['C3'] }])
  const missingCodes = [
    { occupationCode: 'B2', removedDate: expect.stringMatching(/Z$/), replacedBy: ['C3'] },
  ]
  const { items } = await registry.list()
  expect(items[0]).not.toHaveProperty('missingCodes')
  expect(items[1]).toMatchObject({ state: 'confirmed', occupationCode: 'B2', missingCodes })
  // The reviewers disagree until the other one decides again too.
  const [disputed] = await registry.confirm({ ...trucker, occupationCode: 'C3' })
  expect(disputed).toMatchObject({ state: 'disputed', missingCodes })
  const withdrawn = await registry.send('DELETE', `/${disputed?.id}`)
  expect(withdrawn.json()).toMatchObject({ items: [{ state: 'confirmed', missingCodes }] })
})

test('reviewers do not decide about more titles than the index holds, and one of them about half as many', async () => {
  const { service, reviewer } = await start()
  const registry = await reviewer('registry')
  const title = 'x'.repeat(290)
  const fill = async (name: string) => {
    const rows = Array.from({ length: MAX_DECIDED.reviewer / 290 }, (_, at) => {
      const numbered = `${title.slice(5)}${String(at).padStart(5, '0')}`
      return [numbered, name, String(at), numbered, 'en', 'B2', at]
    })
    const columns = ['title_key', 'reviewer', 'id', 'title', 'language', 'code', 'decided']
    await service.database.write('codings', (writer) => writer.load('confirmed_coding', columns, rows))
  }
  await fill('registry')
  const item = { title: `A ${title}`, occupationCode: 'A1' }
  const refused = await registry.send('POST', '', { items: [item] })
  expect([refused.statusCode, refused.json().detail]).toEqual([
    422,
    expect.stringContaining('The titles of one reviewer can have 500,000 characters in all'),
  ])
  const [known] = (await registry.list('?Limit=1')).items
  expect(known?.title).toMatch(/^x+00000$/)
  await registry.confirm({ title: known?.title, occupationCode: 'A1' })
  const other = await reviewer('schools')
  expect(await other.confirm(item)).toMatchObject([{ state: 'confirmed' }])
  await fill('others')
  const full = await other.send('POST', '', { items: [{ ...item, title: 'Kindy teacher' }] })
  expect([full.statusCode, full.json().detail]).toEqual([
    422,
    expect.stringContaining('The titles of all reviewers can have 1,000,000 characters in all'),
  ])
})

test.each([
  [
    { title: 'Trucker', occupationCode: 'Z9' },
    422,
    'items[1].occupationCode is "Z9", which the catalogue does not have.',
  ],
  [{ title: 'Truck\ndriver', occupationCode: 'B2' }, 400, 'items[1].title'],
  [{ title: 'M?ori teacher', occupationCode: 'B2' }, 400, 'items[1].title has a question mark in "M?ori"'],
  [{ title: 'kÄ“hu', occupationCode: 'B2' }, 400, 'it was probably "kēhu". Send it as UTF-8.'],
  [{ title: 'KINDY  TEACHER', occupationCode: 'B2' }, 400, 'items[1].title is the title of items[0] again'],
  [
    { title: '\ufdfa'.repeat(300), occupationCode: 'B2' },
    400,
    'items[1].title has 5,400 characters with its ligatures written out; at most 300 are allowed.',
  ],
])('%j is refused, and nothing of its request is stored', async (item, status, detail) => {
  const { reviewer } = await start()
  const registry = await reviewer('registry')
  const response = await registry.send('POST', '', {
    items: [{ title: 'Kindy teacher', occupationCode: 'A1' }, item],
  })
  expect([response.statusCode, response.json().detail]).toEqual([status, expect.stringContaining(detail)])
  expect((await registry.list()).items).toEqual([])
})

test('every item that is wrong is named at once', async () => {
  const { reviewer } = await start()
  const registry = await reviewer('registry')
  const refused = async (...items: object[]) => {
    const response = await registry.send('POST', '', { items })
    return [response.statusCode, Object.keys(response.json().errors)]
  }
  const good = { title: 'Kindy teacher', occupationCode: 'A1' }
  expect(await refused({ title: 'k\ufffdhu' }, good, good)).toEqual([
    400,
    ['items[0].title', 'items[2].title'],
  ])
  expect(
    await refused({ ...good, occupationCode: 'Z8' }, { title: 'Trucker', occupationCode: 'Z9' }),
  ).toEqual([422, ['items[0].occupationCode', 'items[1].occupationCode']])
  expect((await registry.list()).items).toEqual([])
})

test('a list of 301 titles and an empty one are refused', async () => {
  const { reviewer } = await start()
  const registry = await reviewer('registry')
  const many = Array.from({ length: 301 }, (_, index) => ({ title: `Title ${index}` }))
  for (const items of [many, []]) {
    const response = await registry.send('POST', '', { items })
    expect([response.statusCode, response.json().detail]).toEqual([400, expect.stringContaining('items')])
  }
  await registry.confirm(...many.slice(0, 300))

  const titles: string[] = []
  let query = '?Limit=130'
  for (;;) {
    const { items, nextCursor } = await registry.list(query)
    titles.push(...items.map(({ title }) => title))
    if (nextCursor === undefined) break
    query = `?Limit=130&Cursor=${encodeURIComponent(nextCursor)}`
  }
  expect(new Set(titles).size).toBe(300)
  expect(titles).toHaveLength(300)
})
