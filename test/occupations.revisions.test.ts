import { expect, test } from 'vitest'
import { returnTo } from './support/opened.ts'
import { Service } from './support/service.ts'

const OLD = { occupationCode: 'A1', titleEnglish: 'Baker' }

test('the revisions are listed with their counts, and compared field by field', async () => {
  const service = await Service.start()
  const [first] = (await service.get('/v1/occupation-revisions')).json().revisions
  expect(first).toMatchObject({ revision: 0, command: 'migrate', stored: expect.any(String), totalCount: 0 })
  // When the tables were created.
  expect(first.stored).not.toMatch(/^1970/)
  await service.import([OLD, { occupationCode: 'A2', titleEnglish: 'Miller' }])
  await service.import(
    [
      { ...OLD, titleEnglish: 'Pastry baker' },
      { occupationCode: 'A2', replacedBy: 'A1' },
    ],
    {
      replace: true,
      origin: () => ({ command: 'import', files: [{ name: '/srv/codes.csv', sha256: '' }] }),
    },
  )

  const listed = (await service.get('/v1/occupation-revisions?Limit=1')).json()
  expect(listed.revisions).toMatchObject([
    { updated: 1, removed: 1, totalCount: 1, readable: true, files: ['codes.csv'] },
  ])
  const [{ revision }] = listed.revisions
  const { differences, ...rest } = (await service.get(`/v1/occupation-revisions/${revision}`)).json()
  expect(rest).toEqual({ revision, since: revision - 1, complete: true })
  expect(differences).toMatchObject([
    {
      occupationCode: 'A1',
      before: OLD,
      after: { titleEnglish: 'Pastry baker' },
      fields: expect.arrayContaining([{ field: 'titleEnglish', before: 'Baker', after: 'Pastry baker' }]),
    },
    { occupationCode: 'A2', before: { titleEnglish: 'Miller' }, fields: [], replacedBy: ['A1'] },
  ])
  const same = await service.get(`/v1/occupation-revisions/${revision}?Since=${revision}`)
  expect(same.json()).toMatchObject({ differences: [], complete: true })
})

test('one response examines a bounded number of codes, and the next ones read on', async () => {
  const service = await Service.start()
  const records = (title: string) =>
    Array.from({ length: 2_100 }, (_, index) => ({
      occupationCode: `A${1_000 + index}`,
      titleEnglish: title,
    }))
  for (const title of ['One', 'Two', 'One']) await service.import(records(title))

  interface Page {
    readonly differences: readonly { readonly occupationCode: string }[]
    readonly complete: boolean
    readonly next?: string
  }
  const readPages = async (query: string): Promise<Page[]> => {
    const pages: Page[] = []
    for (let after = ''; ; ) {
      const response = await service.get(`/v1/occupation-revisions/${query}${after}`)
      const page = response.json<Page>()
      pages.push(page)
      expect(page.complete).toBe(page.next === undefined)
      if (page.next === undefined) return pages
      after = `&After=${page.next}`
    }
  }
  const dated = await readPages('3?Since=1')
  expect(dated).toHaveLength(11)
  const codes = dated.flatMap(({ differences }) => differences.map(({ occupationCode }) => occupationCode))
  expect(codes).toEqual(records('').map(({ occupationCode }) => occupationCode))

  await returnTo(service.database, 1)
  expect(await readPages('4?Since=1')).toMatchObject([
    { differences: [], complete: false },
    { differences: [], complete: true },
  ])
})

test('a revision that does not exist is 404, and a number that is none is 400', async () => {
  const service = await Service.start()
  await service.import([OLD])
  const unknown = await service.get('/v1/occupation-revisions/99')
  expect(unknown.json()).toMatchObject({
    type: '/problems/no-such-revision',
    status: 404,
    detail: 'There is no revision 99: the newest is 1.',
  })
  for (const path of ['one', '-1', '1?Since=x', '1?Limit=1'])
    expect((await service.get(`/v1/occupation-revisions/${path}`)).statusCode).toBe(400)
})

test('of an open catalogue, only callers with a credential see the revisions', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  expect((await service.request({ url: '/v1/occupations' })).statusCode).toBe(200)
  for (const path of ['/v1/occupation-revisions', '/v1/occupation-revisions/0'])
    expect((await service.request({ url: path })).statusCode).toBe(401)
})

test('only the scope operate shows the state of the service, without any secret', async () => {
  const service = await Service.start()
  expect((await service.get('/v1/overview')).statusCode).toBe(401)
  const { key } = await service.createKey({ client: 'operator', scopes: ['operate'] })
  const shown = await service.get('/v1/overview', { 'x-api-key': key })
  expect(shown.json()).toMatchObject({
    keys: expect.arrayContaining([expect.objectContaining({ client: 'operator', scopes: ['operate'] })]),
    refusals: { scope: 1 },
  })
  expect(shown.body).not.toContain(key)
  expect(shown.body).not.toMatch(/hash/i)
})
