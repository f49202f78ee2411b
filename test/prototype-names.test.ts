import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UserError } from '../src/foundation/faults/user-error.ts'
import { check, checkPaths } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { tokenOf } from './support/console.ts'
import { writeDefinition } from './support/definition.ts'
import { Service } from './support/service.ts'

/** What every object has from its prototype: a look-up of such a name in a plain object finds a function. */
const NAMES = Object.getOwnPropertyNames(Object.prototype)
const CLEAN = join(import.meta.dirname, '../samples/sdr/clean')

test('as a cell of any column, each is a value like others', async () => {
  const mahi = new Installation()
  for (const file of readdirSync(CLEAN).filter((each) => each.endsWith('.csv'))) {
    const [header = '', ...rows] = readFileSync(join(CLEAN, file), 'utf8').split('\n')
    const columns = header.split(',').length
    const lines = NAMES.map((name) => Array(columns).fill(name).join(','))
    mahi.write(`files/${file}`, [header, ...lines, ...rows.slice(0, 20)].join('\n'))
  }
  const { code, stdout, stderr } = await mahi.run(['check', 'files', '--format', 'ndjson', '--fix', 'fixed'])
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.not.stringContaining('rror:') })
  const named = new Set(stdout.match(/(?<=dateOfBirth is \\")\w+/g))
  expect([...named].sort()).toEqual([...NAMES].sort())
})

test('a number column does not accept them', async () => {
  const row = (name: string) => `${name},M1,,,${name}\n`
  const { findings } = await check({
    'members.csv': 'memberId,born,kind\nM1,,\n',
    'book-loans.csv': `loanId,memberId,lent,returned,fee\n${NAMES.map(row).join('')}`,
  })
  const refused = findings.filter(({ field, errorCode }) => field === 'fee' && errorCode.endsWith('-type'))
  expect(refused.map(({ localId }) => localId)).toEqual(NAMES)
})

test('as a header, a resource, a field or a property of a definition, each is one', async () => {
  for (const name of NAMES) {
    const folder = writeDefinition(
      {
        name: 'names',
        [name]: name,
        resources: [
          {
            name: name.toLowerCase().replaceAll('_', ''),
            path: `${name}.csv`,
            schema: {
              fields: [
                { name, type: 'integer', constraints: { enum: [1, 2] } },
                { name: 'date', type: 'date', format: name },
                { name: 'text', type: 'string', format: name },
              ],
            },
          },
        ],
      },
      { [`${name}.csv`]: `${name},date,text\n${name},${name},${name}\n` },
    )
    const said = await checkPaths([folder], folder).then(
      ({ text }) => text,
      (error: unknown) => (error instanceof UserError ? error.message : Promise.reject(error)),
    )
    expect(said).toContain(name)
  }
})

test('as a column, a group or a code of an import, each is text', async () => {
  const mahi = new Installation()
  const records = NAMES.map((name) => ({
    occupationCode: name,
    titleEnglish: name,
    altJobTitlesEnglish: [name],
    minorGroups: [{ minorGroupRelationType: 'Primary', minorGroup: { code: name, nameEnglish: name } }],
  }))
  mahi.write('records.ndjson', records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  expect(await mahi.runJson(['occupations', 'import', 'records.ndjson'])).toMatchObject({
    created: NAMES.length,
  })
  const exported = await mahi.run(['occupations', 'export', '--format', 'csv'])
  mahi.write('again.csv', exported.stdout)
  expect(await mahi.runJson(['occupations', 'import', 'again.csv'])).toMatchObject({
    unchanged: NAMES.length,
  })
  for (const name of NAMES) {
    mahi.write('unknown.csv', `occupationCode,titleEnglish,${name}\n1,One,x\n`)
    mahi.write('unknown.ndjson', `{"occupationCode":"1","titleEnglish":"One",${JSON.stringify(name)}:"x"}\n`)
    mahi.write('map.yaml', `columns:\n  ${name}: occupationCode\n  title: titleEnglish\n`)
    mahi.write('mapped.csv', `${name},title\n9${name},One\n`)
    for (const file of ['unknown.csv', 'unknown.ndjson'])
      expect(await mahi.run(['occupations', 'import', file, '--dry-run']), file).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(name),
      })
    expect(
      await mahi.runJson(['occupations', 'import', 'mapped.csv', '--map', 'map.yaml', '--dry-run']),
    ).toMatchObject({ created: 1 })
  }
})

test('as a parameter, a value, a header or a body, each gets the response of any unknown text', async () => {
  const service = await Service.start({ CONSOLE: 'on' })
  await service.import([{ occupationCode: '1', titleEnglish: 'One' }])
  const signedIn = await service.app.inject({
    method: 'POST',
    url: '/console/sign-in',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      host: 'localhost',
    },
    payload: new URLSearchParams({ key: service.key }).toString(),
  })
  const cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0] ?? ''
  expect(tokenOf(cookie)).not.toBe('')
  for (const name of NAMES) {
    const statusOf = async (url: string, headers = {}) => (await service.get(url, headers)).statusCode
    expect(await statusOf(`/v1/occupations?${name}=1`), name).toBe(400)
    expect(await statusOf(`/v1/occupations?Limit=${name}`), name).toBe(400)
    expect(await statusOf(`/v1/occupations?Cursor=${name}&Filter.MajorGroupCode=${name}`), name).toBe(200)
    expect(await statusOf(`/v1/occupations/${name}`), name).toBe(404)
    expect((await service.app.inject(`/${name}/occupations`)).statusCode, name).toBe(404)
    expect(await statusOf(`/problems/${name}`), name).toBe(404)
    expect(await statusOf('/v1/occupations', { 'x-api-version': name }), name).toBe(400)
    expect(await statusOf('/v1/occupations', { accept: name }), name).toBeOneOf([200, 400, 406])
    expect(await statusOf(`/v1/submissions/${name}/validation-results`, { eid: '1001' }), name).toBe(401)
    const body = await service.request({
      method: 'POST',
      url: '/v1/codings',
      headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
      payload: `{"items":[{"title":"${name}"}],${JSON.stringify(name)}:1}`,
    })
    expect(body.statusCode, name).toBe(400)
    for (const page of ['organisations', 'submissions', 'changes', 'occupations']) {
      const url = `/console/${page}?${name}=${name}&eid=${name}`
      const shown = await service.app.inject({ url, headers: { cookie, host: 'localhost' } })
      expect({ url, status: shown.statusCode }).toMatchObject({
        status: expect.toBeOneOf([200, 400, 401, 403, 404]),
      })
      expect(shown.body).not.toContain('[native code]')
    }
  }
})
