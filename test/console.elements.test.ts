import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Delegations } from '../src/api/access/delegation.ts'
import type { Scope } from '../src/api/access/principal.ts'
import { html, renderDocument } from '../src/console/html.ts'
import { renderPage } from '../src/console/layout.ts'
import { summarise } from '../src/console/rules.ts'
import { table } from '../src/console/table.ts'
import { TimeZone, Until } from '../src/console/time.ts'
import { ConsoleService } from './support/console.ts'

async function start() {
  const console = await ConsoleService.start()
  return { console, service: console.service, cookie: await console.signIn() }
}

test('a period that ends at midnight of the zone of the pages is shown with its last day', () => {
  const show = (at: string, zone = 'UTC') =>
    renderDocument(html`<${TimeZone.Provider} value=${zone}><${Until} at=${at} /><//>`)
      .replaceAll(/<.*?>/g, '')
      .trim()
  expect(show('2026-12-21T00:00:00.000Z')).toBe('20 Dec 2026')
  expect(show('2026-12-20T11:00:00.000Z', 'Pacific/Auckland')).toBe('20 Dec 2026')
  expect(show('2027-01-31T17:00:00.000Z')).toBe('31 Jan 2027, 17:00')
  expect(show('2027-01-31T04:00:00.000Z', 'Pacific/Auckland')).toBe('31 Jan 2027, 17:00')
})

test('a page with an occupation of O*NET attributes its data, and no other does', () => {
  const show = (code: string) =>
    renderPage({ title: 'Page', path: '' }, html`<a href=${`/console/occupations/${code}`}>One</a>`)
  expect(show('11-1011.00')).toContain('CC BY 4.0')
  expect(show('A0101')).not.toContain('O*NET')
})

test('the cells of a table of cards have the names of their columns', () => {
  const rendered = renderDocument(
    html`<div>${table(
      'Codes',
      [{ code: 'A' }, html`<tr><td>as it is</td></tr>`, { code: 'B' }],
      [
        ['Code', ({ code }) => code],
        ['Records', () => 1000, 'number'],
        ['', () => 'go', { hidden: 'Open' }],
      ],
    )}</div>`,
  )
  expect(rendered.match(/<tr>.*?<\/tr>/gs)?.slice(1)).toEqual([
    '<tr><th scope="row">A</th><td class="number" data-label="Records">1,000</td><td>go</td></tr>',
    '<tr><td>as it is</td></tr>',
    '<tr><th scope="row">B</th><td class="number" data-label="Records">1,000</td><td>go</td></tr>',
  ])
})

test('a link to the rest of a list keeps its filters', async () => {
  const { service, cookie } = await start()
  const url = '/console/rules?severity=Error'
  const { body } = await service.app.inject({ url, headers: { host: 'localhost', cookie } })
  expect(body).toContain('href="/console/rules?severity=Error&amp;all=yes"')
})

test('a message without the values of a record keeps the pattern that a value must have', () => {
  expect(summarise('sourceOfFunding is "{value}", but must have the form [0-9]{2}.')).toBe(
    'sourceOfFunding is …, but must have the form [0-9]{2}.',
  )
})

test('every class that a page names has a style', () => {
  const folder = fileURLToPath(new URL('../src/console/', import.meta.url))
  const pages = globSync('**/*.ts', { cwd: folder }).map((name) => readFileSync(join(folder, name), 'utf8'))
  const named = pages
    .flatMap((page) => [...page.matchAll(/class="([^"]+)"/g)])
    .flatMap(([, names = '']) => names.split(' '))
  const styles = readFileSync(join(folder, 'public/console.css'), 'utf8')
  const styled = new Set(Array.from(styles.matchAll(/\.([a-z][\w-]*)/g), ([, name]) => name))
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter((name) => !styled.has(name))).toEqual([])
})

test('all scripts together are at most 15 KB, compressed', () => {
  const folder = new URL('../src/console/public/', import.meta.url)
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const sizes = scripts.map((name) => gzipSync(readFileSync(new URL(name, folder))).length)
  expect(sizes.length).toBeGreaterThan(2)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(15_000)
})

describe('what other people have written', () => {
  const hostile = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>"'\u202e\u2066`
  /** Opens a page, and expects that nothing of what is hostile is an element or a link in it. */
  async function openPage({ service, cookie }: Awaited<ReturnType<typeof start>>, path: string) {
    const { statusCode, body } = await service.app.inject({
      url: `/console${path}`,
      headers: { cookie, host: 'localhost' },
    })
    expect(statusCode, path).toBe(200)
    expect(body, path).not.toMatch(/<img|<script>|<b>|<i>|href="javascript/)
    return body
  }

  test('in a record becomes no element', async () => {
    const started = await start()
    const { service, console } = started
    const list = [hostile]
    await service.import([
      {
        occupationCode: '<b>A1</b>',
        titleEnglish: hostile,
        titleMaori: hostile,
        altJobTitlesEnglish: list,
        altJobTitlesMaori: list,
        descriptionEnglish: hostile,
        descriptionMaori: hostile,
        kaupapaDescriptionEnglish: hostile,
        kaupapaDescriptionMaori: hostile,
        detailedWorkActivitiesEnglish: list,
        detailedWorkActivitiesMaori: list,
        trainingDuration: hostile,
        lifeOnTheJobEnglish: list,
        lifeOnTheJobMaori: list,
        entryRequirements: {
          entrySummaryEnglish: hostile,
          entrySummaryMaori: hostile,
          entryInSchoolEnglish: hostile,
          entryInSchoolMaori: hostile,
          entryYouNeedEnglish: list,
          entryYouNeedMaori: list,
          entryYouMayNeedEnglish: list,
          entryYouMayNeedMaori: list,
        },
        minorGroups: [
          {
            minorGroupRelationType: 'Primary',
            minorGroup: {
              code: '<i>M</i>',
              nameEnglish: hostile,
              majorGroups: [
                {
                  majorGroupRelationType: 'Primary',
                  majorGroup: { code: '<i>G</i>', nameEnglish: hostile },
                },
              ],
            },
          },
        ],
        registrationAuthority: {
          nameEnglish: hostile,
          nameMaori: hostile,
          email: hostile,
          telephone: hostile,
          websiteUrl: "javascript:document.title='broken'",
        },
      },
    ])
    await console.whenSearchable()
    const code = encodeURIComponent('<b>A1</b>')
    const words = encodeURIComponent('<img src=x')
    expect(await openPage(started, `/occupations/${code}`)).toContain('&lt;img src=x')
    for (const path of [
      '/occupations',
      `/occupations?q=${words}`,
      '/changes/1',
      `/compare?code=${code},${words}`,
      `/rules?q=${words}`,
    ])
      await openPage(started, path)
  })

  test('in a finding becomes no element', async () => {
    const started = await start()
    const entry = {
      localId: hostile,
      errorCode: '<b>E1</b>',
      errorDescription: hostile,
      errorType: 'Error',
      fileType: 'Learner',
      courseCode: hostile,
      studentId: hostile,
      recordText: hostile,
    }
    await started.service.publish([entry], { token: 'hostile-submission' })
    for (const view of ['', '/codes', '/learners', '/records'])
      await openPage(started, `/submissions/hostile-submission/findings${view}`)
  })
})

test('of very many findings, a page shows some, the most frequent codes first, and counts all', async () => {
  const { service, cookie } = await start()
  const findings = Array.from({ length: 300 }, (_, index) => ({
    localId: `L${index}`,
    errorCode: `E${index % 200}`,
    errorType: index % 3 === 0 ? 'Warning' : 'Error',
    fileType: 'Learner',
    studentId: `S${index % 100}`,
  }))
  await service.publish(findings, { token: 'many-findings' })
  const open = async (path: string) => {
    const url = `/console/submissions/many-findings/findings${path}`
    const { body } = await service.app.inject({ url, headers: { cookie, host: 'localhost' } })
    return { body, text: body.replaceAll(/<[^>]*>/g, ''), rows: body.split('<tr').length - 2 }
  }
  expect((await open('')).text).toContain('200 errors')
  const first = await open('/records')
  expect(first.rows).toBe(25)
  expect(first.body).not.toContain('L299')
  expect((await open('/records?page=12')).body).toContain('L299')
  const filtered = await open('/records?student=S7')
  expect([filtered.rows, filtered.text]).toEqual([3, expect.stringMatching(/3 findings with these filters/)])
  const codes = await open('/codes')
  expect([codes.rows, codes.text]).toEqual([25, expect.stringContaining('Show 175 more codes')])
  expect(codes.text).not.toContain('E150')
})

test('the search says when it only guesses, helps when it finds nothing, and results can be compared', async () => {
  const { console, service, cookie } = await start()
  await service.import([
    { occupationCode: 'A1', titleEnglish: 'Nurse' },
    { occupationCode: 'A2', titleEnglish: 'Nurse manager' },
    { occupationCode: 'A3', titleEnglish: 'Driver', descriptionEnglish: 'Drives a nurse to people.' },
  ])
  await console.whenSearchable()
  const open = async (path: string) =>
    (await service.app.inject({ url: `/console${path}`, headers: { cookie, host: 'localhost' } })).body
  const found = await open('/occupations?q=nurse')
  expect(found).toContain('3 occupations may be meant, the likeliest first.')
  expect(found.match(/name="code" value="A\d"/g)).toHaveLength(3)
  expect(found).toMatch(/value="A1"[\s\S]*Less likely from here on:[\s\S]*value="A2"/)
  expect(await open('/compare?code=A1&code=A2')).toContain('<title>Compare Nurse, Nurse manager')
  // One is added to another by its name.
  expect(await open('/compare?code=A1&q=nurse')).toContain('href="/console/compare?code=A1%2CA2"')
  const none = await open('/occupations?q=zebra+juggler')
  expect(none).toContain('No occupation is named “zebra juggler”.')
  expect(none).toMatch(/Nearest:|Try fewer or more general words/)
  expect(none).not.toContain('may be meant')
  // The search that adds to a comparison says so, too.
  expect(await open('/compare?code=A1&q=zebra+juggler')).toMatch(
    /No (?:other )?occupation is named “zebra juggler”/,
  )
})

test('the pages of the catalogue lead from group to group, to what differs and to what replaces a code', async () => {
  const { service, cookie } = await start()
  const majorGroups = [{ majorGroupRelationType: 'Primary', majorGroup: { code: 'G1', nameEnglish: 'Care' } }]
  const minorGroup = { code: 'M1', nameEnglish: 'Teaching', majorGroups }
  const record = (occupationCode: string, payLowerBound: number, more = {}) => ({
    ...{ occupationCode, titleEnglish: `Title of ${occupationCode}` },
    renumeration: { payLowerBound },
    ...{ minorGroups: [{ minorGroupRelationType: 'Primary', minorGroup }], ...more },
  })
  const open = async (path: string) =>
    (await service.app.inject({ url: `/console${path}`, headers: { cookie, host: 'localhost' } })).body
  const rowsOf = (page: string) => page.split('<tbody')[1]?.split('<tr').slice(1) ?? []
  await service.import([record('A1', 1), record('A2', 1, { titleMaori: 'Kaiako' }), record('A3', 1)])
  // Amounts have a sign only where the import stated which.
  const amounts = async () =>
    (await open('/occupations/A1')).match(/less than ([^;.]*)\. ([^<]*?) *</)?.slice(1)
  const notStated = 'The import did not state the currency, year and country of the amounts.'
  expect(await amounts()).toEqual(['1', notStated])
  expect(await open('/compare?code=A1')).toContain(notStated)
  expect(await open('/occupations?group=G1')).toMatch(
    />Minor groups of Care<\/h2>.*href="[^"]*\?group=G1&amp;minor=M1"[^>]*>Teaching</s,
  )
  expect(await open('/occupations?group=G1&minor=M1')).toMatch(/<h2[^>]*>Teaching <span[^>]*>\(3\)/)

  // Rows of a comparison that differ come first, and pay is no exception.
  const compare = async () => {
    const rows = rowsOf(await open('/compare?code=A1,A2'))
    const pay = rows.findIndex((row) => row.includes('Pay'))
    return [rows[pay]?.includes('differs'), pay < rows.findIndex((row) => row.includes('Kaiako'))]
  }
  expect(await compare()).toEqual([false, false])
  const payBasis = 'USD 2023, United States'
  await service.import([record('A1', 2), { occupationCode: 'A3', replacedBy: ['A1', 'A2'] }], { payBasis })
  expect(await amounts()).toEqual(['US$2', `The amounts are in ${payBasis}.`])
  expect(await open('/compare?code=A1')).toMatch(/in USD 2023, United States\..*by percentile, USD 2023/s)
  expect(await compare()).toEqual([true, true])
  expect((await open('/changes/2')).replaceAll(/<[^>]*>/g, '')).toContain('A3, replaced by A1, A2')
})

test('similar occupations are those of the major group whose records say most alike, whatever their minor group', async () => {
  const { console, service, cookie } = await start()
  const record = (
    occupationCode: string,
    titleEnglish: string,
    descriptionEnglish: string,
    major: string,
    minor: string,
  ) => ({
    occupationCode,
    titleEnglish,
    descriptionEnglish,
    minorGroups: [
      {
        minorGroupRelationType: 'Primary',
        minorGroup: {
          code: minor,
          nameEnglish: minor,
          majorGroups: [
            { majorGroupRelationType: 'Primary', majorGroup: { code: major, nameEnglish: major } },
          ],
        },
      },
    ],
  })
  await service.import([
    record('A1', 'Potter', 'Shapes clay into bowls and fires them in a kiln.', 'Craft', 'Clay'),
    record('A2', 'Kiln operator', 'Fires bowls of clay in a kiln.', 'Craft', 'Ovens'),
    record('A3', 'Weaver', 'Weaves flax into mats.', 'Craft', 'Clay'),
    record('A4', 'Ceramics teacher', 'Teaches to shape clay and to fire bowls in a kiln.', 'Teaching', 'Art'),
  ])
  await console.whenSearchable()
  const url = '/console/occupations/A1'
  const { body } = await service.app.inject({ url, headers: { cookie, host: 'localhost' } })
  const [, similar = ''] = body.split('Similar occupations')
  expect(similar).toContain('Kiln operator')
  expect(similar).not.toContain('Ceramics teacher')
  expect(similar.indexOf('Kiln operator')).toBeLessThan(`${similar}Weaver`.indexOf('Weaver'))
})

test('the use of the console is a use of the key', () => {
  const used: string[] = []
  const delegations = new Delegations({ mark: (id) => used.push(id) })
  const principal = { client: 'a', scopes: new Set<Scope>(), eids: new Set<string>(), expires: 0 }
  for (const id of ['mahi_123456789012', 'oidc_1']) delegations.issue({ ...principal, id })
  expect(used).toEqual(['mahi_123456789012'])
})
