import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { Installation, type RunningCommand, until } from '../support/command.ts'
import { openSocket } from '../support/connection.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask, Load, type Question } from '../support/load.ts'
import { sourceOf } from '../support/service.ts'

const MB = 2 ** 20

/** Memory of a process that is in use now, in bytes. */
function memoryOf({ child }: RunningCommand): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) * 1024
}

/** A filled database and a server of it. */
async function serve(environment: Record<string, string>) {
  const mahi = new Installation({ inProcesses: true })
  const filled = await fillDatabase(mahi.databaseUrl, 500)
  const { url, command } = await mahi.serve({ ...UNLIMITED, LOG_LEVEL: 'info', ...environment })
  return { ...filled, url, command, databaseUrl: mahi.databaseUrl }
}

/** Sends a request on a separate connection and reads only the head of the response. */
async function beginReading(url: string, path: string, headers: Record<string, string>) {
  const socket = (await openSocket(url)).resume()
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`)
  const [begin] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  return { socket, status: Number(begin.toString('latin1', 9, 12)) }
}

/** Large pages, each another one: no two callers share a reading. */
function distinctPages(headers: Question['headers']): Question[] {
  return Array.from({ length: 400 }, (_, index) => ({
    path: `/v1/occupations?Limit=${50 + (index % 50)}&Cursor=C${100 + index}`,
    headers,
  }))
}

test('under overload a process serves or rejects each request, and lives and recovers', async () => {
  const { url, headers, command } = await serve({
    PAGE_CACHE_MB: '0',
    DATABASE_POOL_SIZE: '2',
  })
  const load = new Load([url], distinctPages(headers), { callers: 500 })
  // How many are rejected depends on the machine.
  await load.until(({ ok, unavailable }) => ok > 500 && ok + unavailable > 2000)
  // Whoever only asks whether it lives is not told to restart it.
  expect((await ask(`${url}/livez`, {})).status).toBe(200)
  const counts = await load.stop()
  process.stdout.write(
    `500 callers at once: ${counts.sent} requests sent, ${counts.ok} answered 200, ${counts.unavailable} answered 503, ${counts.otherwise.length} otherwise; ${Math.round(memoryOf(command) / MB)} MB\n`,
  )
  expect(counts.otherwise).toEqual([])
  await until(async () => ((await ask(`${url}/readyz`, {})).status === 200 ? true : undefined))
})

test('clients that request large pages and read nothing neither fill the memory nor lock others out for long', async () => {
  const { url, headers, command, databaseUrl } = await serve({ PAGE_CACHE_MB: '0' })
  const recordText = 'x'.repeat(20_000)
  const entries = Array.from({ length: 1000 }, (_, index) => ({ localId: String(index), recordText }))
  const { submissionToken } = await withDatabase(databaseUrl, (database) =>
    publishResults(database, sourceOf(entries), { eid: '1001', returnId: 'R1' }),
  )
  // 20 MB, and of each size another page: none is shared.
  const page = (size: number) => `/v1/submissions/${submissionToken}/validation-results?pageSize=${size}`
  expect((await ask(url + page(1000), headers)).status).toBe(200)

  const statuses: number[] = []
  let most = 0
  for (let index = 0; index < 40; index++) {
    const { status } = await beginReading(url, page(1000 - index), headers)
    statuses.push(status)
    most = Math.max(most, memoryOf(command))
  }
  const refused = statuses.filter((status) => status === 503).length
  process.stdout.write(
    `40 readers that take nothing of 20 MB each: ${40 - refused} answers begun, ${refused} turned away with 503, at most ${Math.round(most / MB)} MB\n`,
  )
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect(most).toBeLessThan(700 * MB)
  // Other callers are still served, and large pages of this one again once its readers have had their time.
  expect((await ask(`${url}/openapi.json`, {})).status).toBe(200)
  await until(async () => ((await ask(url + page(900), headers)).status === 200 ? true : undefined))
})

test('4,000 clients that request pages and read nothing do not end a process of 512 MiB', async () => {
  const { url, headers, command } = await serve({ PAGE_CACHE_MB: '0', MEMORY_MB: '512' })
  const questions = distinctPages(headers)
  let most = 0
  const sockets = []
  for (let index = 0; index < 4_000; index++) {
    const socket = await openSocket(url)
    const { path } = questions[index % questions.length] as Question
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    // Eight on each connection, which the kernel does not hold.
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`.repeat(8))
    sockets.push(socket)
    if (index % 100 === 0) most = Math.max(most, memoryOf(command))
  }
  // Whoever only asks whether it lives is answered as soon as there is a free connection.
  for (const socket of sockets.splice(0, 100)) socket.destroy()
  await until(async () => {
    most = Math.max(most, memoryOf(command))
    return (await ask(`${url}/livez`, {}).catch(() => undefined))?.status === 200 || undefined
  })
  for (const socket of sockets) socket.destroy()
  const [page] = questions
  await until(async () => ((await ask(url + page?.path, headers)).status === 200 ? true : undefined))
  process.stdout.write(`4,000 readers that take nothing: at most ${Math.round(most / MB)} MB\n`)
  expect(most).toBeLessThan(512 * MB)
})
