import { expect, test } from 'vitest'
import { renderDocument } from '../src/console/html.ts'
import { Sessions } from '../src/console/sessions.ts'
import { type Column, sortRows, table } from '../src/console/table.ts'
import { startCollection } from './support/collection.ts'
import { ConsoleService, describeForm } from './support/console.ts'

interface Item {
  readonly name: string
  readonly found?: number
}

const COLUMNS: readonly Column<Item>[] = [
  ['Name', ({ name }) => name, { sort: ({ name }) => name }],
  ['Not started', ({ found }) => found, 'number'],
]

const at = (url: string) =>
  ({
    query: new URL(url, 'http://localhost').searchParams,
    request: { url, routeOptions: { url: '/console/items' }, server: { hasRoute: () => true } },
  }) as unknown as Parameters<typeof sortRows>[0]

test('rows are in the order of the column that the URL names; those without a value are always last', () => {
  const items = [{ name: 'b 10', found: 0.25 }, { name: 'a' }, { name: 'b 9', found: 0.5 }]
  const sort = (url: string) => sortRows(at(url), items, COLUMNS).map(({ name }) => name)
  expect(sort('/console/items?sort=name')).toEqual(['a', 'b 9', 'b 10'])
  expect(sort('/console/items?sort=-name')).toEqual(['b 10', 'b 9', 'a'])
  expect(sort('/console/items?sort=not-started')).toEqual(['b 10', 'b 9', 'a'])
  expect(sort('/console/items?sort=-not-started')).toEqual(['b 9', 'b 10', 'a'])
  for (const other of ['', '?sort=', '?sort=other']) expect(sort(`/console/items${other}`)[0]).toBe('b 10')
})

test('a heading is a link to the other order, and says which one is shown', () => {
  const two = [{ name: 'a' }, { name: 'b' }]
  const headings = (url: string, items: readonly Item[] = two) =>
    [
      ...renderDocument(table('Items', items, COLUMNS, { sortedOn: at(url) })).matchAll(
        /<th scope="col"(?: class="number")?(?: aria-sort="(\w+)")?>\s*<a class="sort" href="([^"]*)"/g,
      ),
    ].map(([, order, href]) => [order, href])
  // Each leads to the table itself. Numbers begin with the largest; the page and its filters stay, the number of the page does not.
  expect(headings('/console/items?state=open&page=3')).toEqual([
    [undefined, '/console/items?state=open&amp;sort=name#rows'],
    [undefined, '/console/items?state=open&amp;sort=-not-started#rows'],
  ])
  expect(headings('/console/items?sort=name')[0]).toEqual(['ascending', '/console/items?sort=-name#rows'])
  expect(headings('/console/items?sort=-name')[0]).toEqual(['descending', '/console/items?sort=name#rows'])
  expect(headings('/console/items?sort=-not-started')[1]).toEqual([
    'descending',
    '/console/items?sort=not-started#rows',
  ])
  // One row has no other order, and of a page of a list nobody knows the rest.
  expect(headings('/console/items', two.slice(1))).toEqual([])
  expect(renderDocument(table('Items', two, COLUMNS))).not.toMatch(/class="sort"|id="rows"/)
})

/** The headings of the rows of a page, in their order. */
const readHeads = (body: string) =>
  [...body.matchAll(/<th scope="row"[^>]*>(.*?)<\/th>/gs)].map(([, head = '']) =>
    head.replace(/<[^>]*>/g, '').trim(),
  )

test('all organisations of a return are ordered, not those of one page', async () => {
  const { service, createCaller } = await startCollection({ CONSOLE: 'on' })
  const agency = await createCaller('agency', [], ['operate'])
  const [opens, due, closes] = [-9, 9, 99].map((hours) =>
    new Date(Date.now() + hours * 3_600_000).toISOString(),
  )
  const organisations = Array.from({ length: 120 }, (_, index) => String(1001 + index))
  const described = { name: 'Return', definition: 'collected', organisations, opens, due, closes }
  await agency.ask('PUT', '/returns/202512', described)
  const sessions = new Sessions(service.database)
  const { id } = await service.createKey({ scopes: ['operate'], eids: [] })
  const cookie = `mahi-session=${await sessions.openLink(await sessions.createLink(id))}`
  const open = async (url: string) =>
    (await service.app.inject({ url, headers: { host: 'localhost', cookie } })).body
  const first = await open('/console/returns/202512')
  expect([readHeads(first).length, first.includes('rel="next"')]).toEqual([100, true])
  const heads = readHeads(await open('/console/returns/202512?sort=-organisation'))
  expect([heads.length, heads[0], heads.at(-1)]).toEqual([120, '1120', '1001'])
})

test('the titles of a list are ordered with all that the page was asked for', async () => {
  const console = await ConsoleService.start({ RATE_LIMIT_CODINGS: 'off' })
  const { service } = console
  await service.import([
    { occupationCode: 'A1', titleEnglish: 'Nurse' },
    { occupationCode: 'B2', titleEnglish: 'Engineer' },
  ])
  await console.whenSearchable()
  const cookie = await console.signIn()
  const open = async (url: string) =>
    (await service.app.inject({ url, headers: { host: 'localhost', cookie } })).body
  const form = describeForm({ titles: 'nurse\nengineer\nnurse of engines' }, cookie)
  const { headers } = await service.app.inject({ url: '/console/code', ...form })
  const list = `${headers.location}?sort=-title`
  const body = await open(list)
  expect(readHeads(body)).toEqual(['nurse of engines', 'nurse', 'engineer'])
  // Filters and saving lead back to the same order.
  expect(body).toContain('name="sort" value="-title"')
  const [, action = ''] = /action="([^"]*sort[^"]*)"/.exec(body) ?? []
  const saved = await service.app.inject({
    url: action.replaceAll('&amp;', '&'),
    ...describeForm({}, cookie),
  })
  expect(saved.headers.location).toContain('sort=-title')
})
