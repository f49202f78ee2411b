import { describe, expect, test } from 'vitest'
import type { OccupationPage } from './support/catalogue.ts'
import { replaceCode } from './support/opened.ts'
import { Service } from './support/service.ts'

const RECORDS = [
  { occupationCode: 'A0101', titleEnglish: 'Baker', altJobTitlesEnglish: ['Kitchen "hand"', 'Māngere & co'] },
  { occupationCode: 'A0102', titleEnglish: 'Cook', renumeration: { payLowerBound: 41000.5 } },
  { occupationCode: 'Ā2', titleMaori: 'Kaiako' },
  { occupationCode: 'a/b ?%', titleEnglish: 'Odd one' },
]

async function start(environment: Record<string, string> = {}): Promise<Service> {
  const service = await Service.start(environment)
  await service.import(RECORDS)
  return service
}

const pathOf = (code: string) => `/v1/occupations/${encodeURIComponent(code)}`

test('a record is byte for byte what the list shows', async () => {
  const service = await start()
  const list = (await service.get('/v1/occupations')).body
  for (const { occupationCode } of RECORDS) {
    const response = await service.get(pathOf(occupationCode))
    expect(response.statusCode).toBe(200)
    expect(list).toContain(response.body)
    expect(JSON.parse(response.body)).toMatchObject({ occupationCode })
  }
})

test('a code is read strictly, in any Unicode form, in every version and with HEAD', async () => {
  const service = await start()
  const { body } = await service.get('/v1/occupations/A%CC%842')
  expect(JSON.parse(body)).toMatchObject({ occupationCode: 'Ā2' })
  for (const url of ['/v1.0/occupations/A0101', '/occupations/A0101']) {
    expect((await service.get(url)).body).toBe((await service.get(pathOf('A0101'))).body)
  }
  const key = { 'x-api-key': service.key }
  const head = await service.request({ method: 'HEAD', url: pathOf('A0101'), headers: key })
  expect([head.statusCode, head.body]).toEqual([200, ''])
  expect((await service.get(`/v1/occupations/${'x'.repeat(65)}`)).statusCode).toBe(400)
  expect((await service.get('/v1/occupations/A0101?Field=x')).statusCode).toBe(400)
  expect((await service.get('/v1/occupations/%00')).statusCode).toBe(400)
})

test('an ETag holds until the catalogue changes', async () => {
  const service = await start()
  const { etag } = (await service.get(pathOf('A0101'))).headers
  const again = (url: string) => service.get(url, { 'if-none-match': String(etag) })
  expect((await again(pathOf('A0101'))).statusCode).toBe(304)
  expect((await again(pathOf('A0102'))).statusCode).toBe(200)
  await service.import([{ occupationCode: 'A0101', titleEnglish: 'Pastry Cook' }])
  const changed = await again(pathOf('A0101'))
  expect(changed.json()).toMatchObject({ titleEnglish: 'Pastry Cook' })
  expect((await service.get(pathOf('none'), { 'if-none-match': '*' })).statusCode).toBe(404)
  expect((await service.get(pathOf('A0101'), { 'if-none-match': '*' })).statusCode).toBe(304)
})

describe('a code that the catalogue does not have', () => {
  test('is 404 with its own title and similar codes', async () => {
    const service = await start()
    const response = await service.get(pathOf('A0103'))
    expect(response.statusCode).toBe(404)
    expect(response.json()).toMatchObject({
      type: '/problems/no-such-occupation',
      title: 'No such occupation',
      detail: 'No occupation has the code "A0103". Similar codes: "A0101", "A0102".',
      similarCodes: ['A0101', 'A0102'],
    })
    expect((await service.get(pathOf('a0102'))).json()).toMatchObject({ similarCodes: ['A0102', 'A0101'] })
    expect((await service.get(pathOf('nothing like it'))).json()).toMatchObject({ similarCodes: [] })
  })

  test('is 410 with its successors after removal, and 200 after its return', async () => {
    const service = await start()
    await service.import([{ occupationCode: 'A0102', replacedBy: ['A0101'] }])
    const response = await service.get(pathOf('A0102'))
    expect(response.statusCode).toBe(410)
    expect(response.json()).toMatchObject({
      type: '/problems/occupation-removed',
      removedDate: expect.stringMatching(/^20.*Z$/),
      replacedBy: ['A0101'],
    })
    await service.import([RECORDS[1]])
    expect((await service.get(pathOf('A0102'))).statusCode).toBe(200)
  })
})

describe('Fields', () => {
  test('shows some fields only, in the order of the record', async () => {
    const service = await start()
    const response = await service.get('/v1/occupations?Fields=titleEnglish,occupationCode&Limit=3')
    expect(response.body).toBe(
      '{"nextCursor":"Ā2","currentCursor":"A0101","totalCount":4,"data":[' +
        '{"occupationCode":"A0101","titleEnglish":"Baker"},{"occupationCode":"A0102","titleEnglish":"Cook"},' +
        '{"occupationCode":"a/b ?%","titleEnglish":"Odd one"}],"resultsCount":3}',
    )
    expect(response.headers.link).toContain('&Fields=occupationCode,titleEnglish>')
    expect((await service.get('/v1/occupations?Fields=descriptionEnglish&Limit=1')).json()).toMatchObject({
      data: [{}],
    })
  })

  test('rejects a name that is no field, and says which is meant', async () => {
    const service = await start()
    const response = await service.get('/v1/occupations?Fields=occupationCode,titelEnglish')
    expect(response.statusCode).toBe(400)
    expect(response.json().detail).toMatch(/did you mean "titleEnglish"/)
    expect((await service.get('/v1/occupations?Fields=occupationCode,,titleMaori')).statusCode).toBe(400)
  })
})

describe('Filter.Codes', () => {
  const list = async (service: Service, query: string) =>
    (await service.get(`/v1/occupations?${query}`)).json<OccupationPage>()

  test('finds the records with these codes, in any order and form, and names unknown ones', async () => {
    const service = await start()
    const page = await list(service, 'Filter.Codes=A%CC%842,A0101,nothing,A0101')
    expect(page.data.map(({ occupationCode }) => occupationCode)).toEqual(['A0101', 'Ā2'])
    expect([page.totalCount, page.resultsCount]).toEqual([2, 2])
    expect(await list(service, 'Filter.Codes=nothing')).toEqual({
      totalCount: 0,
      data: [],
      resultsCount: 0,
      missingCodes: [{ occupationCode: 'nothing' }],
    })
  })

  test('supports a hundred codes and no more', async () => {
    const service = await start()
    const codes = (count: number) => Array.from({ length: count }, (_, index) => `B${index}`).join()
    expect((await list(service, `Filter.Codes=${codes(100)}`)).totalCount).toBe(0)
    const refused = await service.get(`/v1/occupations?Filter.Codes=${codes(101)}`)
    expect(refused.json().detail).toBe('Filter.Codes has 101 items; at most 100 are allowed.')
  })
})

test('Filter.Codes without Limit returns every named record, and reports codes that are missing or replaced', async () => {
  const service = await Service.start()
  const codes = Array.from({ length: 30 }, (_, index) => `N${10 + index}`)
  await service.import([...codes, 'OLD'].map((occupationCode) => ({ occupationCode })))
  await service.import(
    codes.map((occupationCode) => ({ occupationCode })),
    { replace: true },
  )
  await replaceCode(service.database, 'OLD', ['N10', 'N11'])
  await service.revisions.refresh()
  const url = `/v1/occupations?Filter.Codes=${[...codes, 'OLD', 'NEVER'].join(',')}`
  const page = (await service.get(url)).json()
  expect(page).toMatchObject({ totalCount: 30, resultsCount: 30 })
  expect(page).not.toHaveProperty('nextCursor')
  expect(page.missingCodes).toEqual([
    { occupationCode: 'NEVER' },
    { occupationCode: 'OLD', removedDate: expect.stringMatching(/Z$/), replacedBy: ['N10', 'N11'] },
  ])
  expect((await service.get(`${url}&limit=20`)).json()).toMatchObject({ resultsCount: 20, nextCursor: 'N30' })
  const all = (await service.get(`/v1/occupations?Filter.Codes=${codes.join(',')}`)).json()
  expect(all).not.toHaveProperty('missingCodes')
})
