import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findConsolePage } from '../src/remote/console-page.ts'
import { askService, openClient } from '../src/remote/service.ts'
import { Installation } from './support/command.ts'
import { listen } from './support/connection.ts'
import { pack } from './support/pack.ts'
import { Service } from './support/service.ts'
import { makeXlsx } from './support/xlsx.ts'

const URL = 'http://127.0.0.1:1'

test('submitting without a key says which variable is missing', () => {
  expect(() => openClient(URL, '1001', undefined)).toThrow(
    'MAHI_API_KEY is not set. Set it to a key with the scope submissions:write',
  )
})

test('a refusal says what is wrong with the key, or with the rest', async () => {
  const service = await Service.start()
  const url = `http://127.0.0.1:${await listen(service)}`
  const submit = async (eid: string, key: string) => {
    const client = openClient(url, eid, key)
    return await askService(url, () => client.submissions.create({ returnId: '202512' }))
  }
  const create = async (scopes: Parameters<Service['createKey']>[0]['scopes']) =>
    (await service.createKey({ eids: ['1001'], ...(scopes && { scopes }) })).key
  const writer = await create(['submissions:write'])
  await expect(submit('1002', writer)).rejects.toThrow(
    `${url}: the service refuses the request: This key covers organisation 1001, not 1002`,
  )
  await expect(submit('1001', await create(['validation-results:read']))).rejects.toThrow(
    'the service refuses the request: This key lacks the scope submissions:write',
  )
  await expect(submit('1001', `${writer.slice(0, -2)}AA`)).rejects.toThrow(
    'the service does not accept the key: set MAHI_API_KEY to one that is valid there',
  )
})

test('the page of the console is named only if the start page says so', async () => {
  let body = '{"home":"/console"}'
  const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  expect(await findConsolePage(url, 'a/b', 'x&y')).toBe(`${url}console/submissions/a%2Fb?eid=x%26y`)
  const long = `{"home":"/console","more":"${'x'.repeat(100_000)}"}`
  for (const other of ['{"home":"/docs"}', '{"home":"https://other.example"}', '<html>', 'null', '', long]) {
    body = other
    expect([other.slice(0, 40), await findConsolePage(url, 'a', '1')]).toEqual([
      other.slice(0, 40),
      undefined,
    ])
  }
  expect(await findConsolePage(URL, 'a', '1')).toBeUndefined()
})

test('the examples of a definition are counted in a sentence', async () => {
  const { stderr } = await new Installation().run(['definitions', 'test', 'sdr'])
  expect(stderr).toMatch(/^sdr: \d+ rules pass their \d+ examples\.$/m)
})

const COURSES = [['Course Code', 'title'], ['FIC00001', 'Whakaaro, and more'], [], ['FIC00002', 'Mahi']]
const LEARNERS = readFileSync(join(import.meta.dirname, '../samples/sdr/clean/learners.csv'))

test('archives and workbooks are sent as the files that mahi check reads in them', async () => {
  const service = await Service.start()
  const url = `http://127.0.0.1:${await listen(service)}`
  const { key } = await service.createKey({
    scopes: ['submissions:write', 'validation-results:read'],
    eids: ['1001'],
  })
  const mahi = new Installation()
  const workbook = makeXlsx({ Courses: COURSES, Notes: [['Made on Monday']] })
  const inner = makeXlsx({ Sheet1: COURSES })
  writeFileSync(join(mahi.folder, 'return.xlsx'), workbook)
  writeFileSync(
    join(mahi.folder, 'return.zip'),
    await pack({ 'learners.csv': LEARNERS, 'courses.xlsx': inner }),
  )
  writeFileSync(join(mahi.folder, 'people of 2025.csv'), LEARNERS)
  const submit = async (returnId: string, ...paths: string[]) => {
    const given = ['submit', ...paths, '--url', url, '--eid', '1001', '--return', returnId]
    const { code, stdout, stderr } = await mahi.run(given, { environment: { MAHI_API_KEY: key } })
    expect([code, stderr]).toEqual([0, expect.stringMatching(/Run 1 of submission \S+ is Queued\.$/m)])
    const [, token = ''] = /submission (\S+) is/.exec(stderr) ?? []
    const { files } = (
      await service.request({
        url: `/v1/submissions/${token}`,
        headers: { 'x-api-key': key, eid: '1001' },
      })
    ).json() as { files: { file: string; records: number }[] }
    return { stdout, stderr, files: files.map(({ file, records }) => [file, records]) }
  }
  const book = await submit('202512', 'return.xlsx')
  expect(book.files).toEqual([['courses', 2]])
  expect(book.stderr).toContain('return.xlsx/Notes was not sent: it is not a file of sdr.')
  expect((await submit('202508', 'return.zip')).files).toEqual([
    ['courses', 2],
    ['learners', 400],
  ])
  expect((await submit('202504', '--file', 'learners=people of 2025.csv')).files).toEqual([['learners', 400]])
})
