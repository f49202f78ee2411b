import { expect, test } from 'vitest'
import { hasCaddy, startCaddy } from '../support/caddy.ts'
import { Installation } from '../support/command.ts'
import { fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { findFreePort } from '../support/free-port.ts'
import { Load, type Question } from '../support/load.ts'

test.skipIf(!hasCaddy)(
  'three replicas behind the proxy are restarted in turn, and no request is lost',
  async () => {
    const mahi = new Installation({ inProcesses: true })
    const { headers, questions } = await fillDatabase(mahi.databaseUrl)
    const settings = { ...UNLIMITED, TRUST_PROXY: '127.0.0.1', DRAIN_SECONDS: '3' }
    const serve = (port: number) => mahi.serve({ ...settings, PORT: `${port}` })
    const ports = await Promise.all([1, 2, 3].map(() => findFreePort()))
    const replicas = await Promise.all(ports.map(serve))
    const proxy = await startCaddy(ports.map((port) => `127.0.0.1:${port}`))

    const bearer = { authorization: `Bearer ${headers['x-api-key']}` }
    const expected = new Map<string, string>()
    const check = (body: string, { path }: Question) => {
      if (!expected.has(path)) expected.set(path, body)
      expect(body).toBe(expected.get(path))
    }
    const all = [...questions, { path: '/v1/occupations?Limit=1&Cursor=C120', headers: bearer }]
    const load = new Load([proxy], all, { callers: 6, check })
    for (const [index, port] of ports.entries()) {
      await load.untilMore('ok', 200)
      replicas[index]?.command.kill('SIGTERM')
      expect((await replicas[index]?.command.ended)?.code).toBe(0)
      await load.untilMore('ok', 200)
      await serve(port)
    }
    await load.untilMore('ok', 200)
    const counts = await load.stop()
    // Without a replica, the proxy responds 503.
    expect(counts).toMatchObject({ unavailable: 0, otherwise: [] })
    expect(counts.ok).toBe(counts.sent)
  },
)
