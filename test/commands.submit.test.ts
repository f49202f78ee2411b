import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BLOCKED_PORTS, readServiceUrl } from '../src/foundation/command-line/service-url.ts'
import { askService, openClient } from '../src/remote/service.ts'
import { fetchCommand } from '../src/remote/submit-report.ts'
import { checkLimitsOf } from '../src/submissions/check-limits.ts'
import { COURSES as COURSES_FILE, makeLearners, startCollection, submitTo } from './support/collection.ts'
import { Installation, until } from './support/command.ts'
import { listen, listenOn } from './support/connection.ts'
import { define } from './support/definition.ts'
import { pack } from './support/pack.ts'
import { Service } from './support/service.ts'
import { startSubmissions } from './support/submissions.ts'
import { makeXlsx } from './support/xlsx.ts'

const URL = 'http://127.0.0.1:2'
const ORGANISATION = { eid: '1001', scope: 'submissions:write' } as const

test('submitting without a key says which variable is missing', () => {
  expect(() => openClient(URL, { ...ORGANISATION, apiKey: undefined })).toThrow(
    'MAHI_API_KEY is not set. Set it to a key with the scope submissions:write',
  )
})

const REFUSED = 'the service refuses the request with the key in MAHI_API_KEY:'

test('a refusal says what is wrong with the key, or with the rest', async () => {
  const service = await Service.start()
  const url = `http://127.0.0.1:${await listen(service)}`
  const submit = async (eid: string, key: string) => {
    const client = openClient(url, { ...ORGANISATION, eid, apiKey: key })
    return await askService(url, () => client.submissions.create({ returnId: '202512' }))
  }
  const create = async (scopes: Parameters<Service['createKey']>[0]['scopes']) =>
    (await service.createKey({ eids: ['1001'], ...(scopes && { scopes }) })).key
  const writer = await create(['submissions:write'])
  await expect(submit('1002', writer)).rejects.toThrow(
    `${url}: ${REFUSED} This key covers organisation 1001, not 1002`,
  )
  await expect(submit('1001', await create(['validation-results:read']))).rejects.toThrow(
    `${REFUSED} This key lacks the scope submissions:write`,
  )
  await expect(submit('1001', `${writer.slice(0, -2)}AA`)).rejects.toThrow(
    `${REFUSED} Send a valid key, X-Client-ID`,
  )
})

test('what a service calls its token does nothing in the shell into which a command is pasted', () => {
  const place = { url: URL, eid: '1001', token: 'x; touch pwned' }
  expect(fetchCommand(place)).toBe(`mahi results fetch ${URL} 'x; touch pwned' --eid 1001`)
})

test('a URL that is not one is named as the user wrote it, by every command', async () => {
  const mahi = new Installation()
  const message =
    '--url: must be a URL such as https://careers.example, not "127.0.0.1:8080". Is it http://127.0.0.1:8080?\n'
  mahi.write('learners.csv', 'localId\n1\n')
  for (const command of [
    ['console'],
    ['submit', 'learners.csv', '--eid', '1001', '--return', '202512'],
    ['submissions', 'receipt', 'TOKEN', '--eid', '1001'],
  ]) {
    const { code, stdout, stderr } = await mahi.run([...command, '--url', '127.0.0.1:8080'])
    expect([code, stdout, stderr]).toEqual([1, '', message])
  }
  expect(() => readServiceUrl('ftp://host', '--url')).toThrow(/not "ftp:\/\/host"$/)
  for (const path of ['/v1', '/v1/submissions', '/console', '/mahi/docs'])
    expect(() => readServiceUrl(`https://host${path}`, '--url')).toThrow('without /')
  expect(readServiceUrl('https://host/mahi/', '--url')).toBe('https://host/mahi')
})

test('a port that no HTTP client connects to is refused at once', async () => {
  for (const port of BLOCKED_PORTS) {
    const refused = await fetch(`http://127.0.0.1:${port}`).catch((error: Error) => error.cause)
    expect([port, refused]).toEqual([port, expect.objectContaining({ message: 'bad port' })])
  }
  const { code, stderr } = await new Installation().run(['mirror', 'http://127.0.0.1:1', 'copy'])
  expect([code, stderr]).toEqual([
    1,
    '<url>: has port 1, to which neither this command nor a browser connects, because it belongs to another protocol. Name the port of the service, such as 8080\n',
  ])
})

test('another service, or what speaks no HTTP, is refused at once', async () => {
  let status = 404
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    request.resume()
    response.writeHead(status, { 'content-type': 'text/html' }).end('<!doctype html>')
  })
  const port = await listenOn(server)
  const submit = async (url: string) =>
    await askService(url, () =>
      openClient(url, { ...ORGANISATION, apiKey: 'key' }).submissions.create({ returnId: '202512' }),
    )
  const url = `http://127.0.0.1:${port}`
  const advice = 'so the response is not from Mahi. Check the URL, and the proxy in front of the service'
  for (status of [401, 404, 405, 501])
    await expect(submit(url)).rejects.toThrow(`HTTP ${status} without a problem body, ${advice}`)
  status = 200
  await expect(submit(url)).rejects.toThrow(`The response is not JSON, ${advice}`)
  expect(asked).toBe(5)
  status = 502
  await expect(submit(url)).rejects.toThrow(/: HTTP 502$/)
  await expect(submit(url.replace('http', 'https'))).rejects.toThrow('this port does not speak TLS')

  const other = createTcpServer((socket) => {
    asked++
    socket.end('SSH-2.0-OpenSSH\r\n')
  })
  const otherPort = await listenOn(other)
  asked = 0
  await expect(submit(`http://127.0.0.1:${otherPort}`)).rejects.toThrow(
    'does not speak HTTP (HTTPParserError). Check --url: another program may listen there',
  )
  expect(asked).toBe(1)
})

test('submit and results fetch say which codes are partial', async () => {
  const { service, definition, createCaller, work } = await startSubmissions(
    define({ loans: { fields: [{ name: 'loan' }, { name: 'lent', type: 'date' }] } }),
  )
  await work({ limits: { findingsOfCode: 900 } })
  const { key } = await createCaller('exporter', ['1001'])
  const url = `http://127.0.0.1:${await listen(service)}`
  const mahi = new Installation()
  mahi.write('loans.csv', `loan,lent\n${Array.from({ length: 1000 }, (_, at) => `L${at},never\n`).join('')}`)
  const environment = { MAHI_API_KEY: key }
  const partial = / is partial: the first 900 of its 1,000 findings are kept\./
  const given = ['--definition', definition, '--url', url, '--eid', '1001', '--return', '202512', '--wait']
  const submitted = await mahi.run(['submit', 'loans.csv', ...given], { environment })
  expect(submitted).toMatchObject({ code: 1, stderr: expect.stringMatching(partial) })
  expect(submitted.stderr).not.toContain('Console:')
  const [, token = ''] = /Submission (\S+),/.exec(submitted.stderr) ?? []
  const fetched = await mahi.run(['results', 'fetch', url, token, '--eid', '1001'], { environment })
  expect(fetched).toMatchObject({ code: 0, stderr: expect.stringMatching(partial) })
})

test('of each code, a service stores as many findings as docs/submissions.md says', () => {
  const settings = { CHECK_SECONDS: 1, CHECK_RULE_SECONDS: 1, CHECK_MEMORY_MB: 64, UPLOAD_MAX_MB: 1 }
  expect(checkLimitsOf(settings)).toMatchObject({ findingsOfCode: 100_000, findingsBytes: 256 * 2 ** 20 })
})

test('a server that closes its connections is named once, and tried again', async () => {
  let connections = 0
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    // Then it is another service, so the command ends.
    if (++connections <= 2) socket.end()
    else socket.once('data', () => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'))
  })
  const port = await listenOn(server)
  const url = `http://127.0.0.1:${port}`
  const mahi = new Installation()
  mahi.write('learners.csv', 'localId\n1\n')
  const { code, stderr } = await mahi.run(
    ['submit', 'learners.csv', '--url', url, '--eid', '1001', '--return', '202512'],
    { environment: { MAHI_API_KEY: 'key' } },
  )
  const failure = /^The response is incomplete or missing: the connection was .*\. Trying again…$/
  expect([code, stderr.trimEnd().split('\n')]).toEqual([
    1,
    [expect.stringMatching(failure), expect.stringContaining(`${url}: HTTP 404 without a problem body`)],
  ])
})

test('an upload that breaks off says which files were received, and what to do', async () => {
  const left = new Set(['learners'])
  const server = createServer((request, response) => {
    const [, file] = /\/files\/([\w-]+)$/.exec(request.url ?? '') ?? []
    // This one never arrives.
    if (file !== undefined && !left.delete(file)) return request.socket.destroy()
    request.resume()
    return response.end('{"submissionToken":"T","records":1}')
  })
  const port = await listenOn(server)
  const url = `http://127.0.0.1:${port}`
  const mahi = new Installation()
  mahi.write('learners.csv', 'localId\n1\n')
  mahi.write('courses.csv', 'localId\n1\n')
  const submit = `submit learners.csv courses.csv --url ${url} --eid 1001 --return 202512`.split(' ')
  const { stderr } = await mahi.run(submit, { environment: { MAHI_API_KEY: 'key' } })
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
    /^http\S+: The response is incomplete or missing: .+\. Received before that: learners\.csv\. Run the same command again when the service runs$/,
  )
})

test('submitting files of a submitted return says that this is another submission, which replaces it', async () => {
  const { provider, service, definition, createCaller } = await startCollection()
  const token = await submitTo(provider)
  const url = `http://127.0.0.1:${await listen(service)}`
  const mahi = new Installation()
  mahi.write('courses.csv', COURSES_FILE)
  mahi.write('learners.csv', makeLearners())
  const given = ['--definition', definition, '--url', url, '--eid', '1001', '--return', '202512', '--wait']
  const submit = (key = provider.key, wait = given) =>
    mahi.run(['submit', 'courses.csv', 'learners.csv', ...wait], { environment: { MAHI_API_KEY: key } })
  const { database } = service
  const set = (sql: string) => database.write(`submission:${token}`, (writer) => writer.run(sql, [token]))
  await set(`insert into submission_job (id, token, eid, work, revision, status, received, document)
    values ('of somebody else', $1, '1001', 'upload', 0, 'InProgress', 0, '{}')`)
  const running = submit()
  await until(() => service.log.some((line) => JSON.parse(line).status === 409))
  await set('update submission_job set completed = 1 where token = $1')
  const open = await running
  expect(open.stderr).toContain('Files of this submission are still being read or repaired. Waiting…\n')
  expect(open.stderr).not.toContain('already submitted')
  expect(open.stderr).toContain('The return is not submitted yet. Submit it with: ')

  await provider.ask('POST', `/submissions/${token}/submit`)
  const { code, stderr } = await submit()
  const receipt = /receipt 1 of \d+ \w+ \d{4}, \d\d:\d\d/.source
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(
      `^Return 202512 is already submitted: ${receipt}\\. This is another submission, which replaces it once it is submitted too\\.\n`,
    ),
  ])
  expect(stderr).toMatch(
    new RegExp(`This submission is not submitted yet, so ${receipt} still counts\\. Submit it with: .+\n$`),
  )

  // A key that may only send is not told, and sends.
  const { key } = await createCaller('sender', ['1001'], ['submissions:write'])
  const sent = await submit(key, given.slice(0, -1))
  expect([sent.code, sent.stderr.includes('already submitted')]).toEqual([0, false])
})

const COURSES = [['Course Code', 'title'], ['FIC00001', 'Whakaaro, and more'], [], ['FIC00002', 'Mahi']]
const LEARNERS = readFileSync(join(import.meta.dirname, '../samples/sdr/clean/learners.csv'))

test('with --fix, the service repairs what was sent, and the command says what', async () => {
  const service = await Service.start()
  const url = `http://127.0.0.1:${await listen(service)}`
  const scopes = ['submissions:write', 'validation-results:read'] as const
  const { key } = await service.createKey({ scopes, eids: ['1001'] })
  const mahi = new Installation()
  const [few = ''] = /^(?:.*\n){41}/.exec(String(LEARNERS)) ?? []
  const turned = few.replaceAll(/(\d{4})-(\d{2})-(\d{2})/g, '$3/$2/$1')
  mahi.write('learners.csv', turned)
  const submit = async (...more: string[]) => {
    const given = `submit learners.csv --url ${url} --eid 1001 --return 202512 --fix`.split(' ')
    const run = mahi.run([...given, ...more], { environment: { MAHI_API_KEY: key } })
    return await service.files.during(run)
  }
  const first = await submit()
  expect([first.code, first.stderr]).toEqual([
    0,
    expect.stringContaining('Repaired: 40 changes.\nlearners, dateOfBirth: '),
  ])
  const [, token = ''] = /submission (\S+) is/.exec(first.stderr) ?? []
  const headers = { 'x-api-key': key, eid: '1001', accept: 'text/csv' }
  const stored = await service.request({ url: `/v1/submissions/${token}/files/learners`, headers })
  expect(stored.body).toBe(few)
  // Somebody else sends a file meanwhile.
  const set = (sql: string) =>
    service.database.write(`submission:${token}`, (writer) => writer.run(sql, [token]))
  await set(`insert into submission_job (id, token, eid, work, revision, status, received, document)
    values ('of somebody else', $1, '1001', 'upload', 0, 'InProgress', 0, '{}')`)
  const second = submit()
  await until(() => service.log.some((line) => JSON.parse(line).status === 409))
  await set('update submission set revision = revision + 1 where token = $1')
  await set('update submission_job set completed = 1 where token = $1')
  const { code, stderr } = await second
  expect([code, stderr]).toEqual([0, expect.stringMatching(/ Waiting…\nRepaired: 40 changes\./)])
  mahi.write('learners.csv', few)
  expect(JSON.parse((await submit('--json')).stdout)).toMatchObject({ repairs: [] })
})

test('a spreadsheet in another format is refused before anything is sent, whatever its name', async () => {
  const mahi = new Installation()
  const type = 'mimetypeapplication/vnd.oasis.opendocument.spreadsheet'
  const [ods, csv] = ['course-completions.ods', 'courses.csv']
  for (const name of [ods, `named/${csv}`]) mahi.write(name, `PK\x03\x04${'.'.repeat(26)}${type}`)
  mahi.write('learners.csv', 'localId\n1\n')
  for (const [path, name] of [
    ['.', ods],
    [ods, ods],
    ['named', csv],
  ] as const) {
    const given = ['submit', path, '--url', URL, '--eid', '1001', '--return', '202512']
    const { code, stderr } = await mahi.run(given, { environment: { MAHI_API_KEY: 'key' } })
    expect([code, stderr]).toEqual([
      1,
      `${name}: cannot be sent, so nothing was sent. It is a spreadsheet (ODS), not CSV. Save it as XLSX or CSV.\n`,
    ])
  }
})

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
    const run = mahi.run(given, { environment: { MAHI_API_KEY: key } })
    const { code, stdout, stderr } = await service.files.during(run)
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
