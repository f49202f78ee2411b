import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../src/api/telemetry/log.ts'

const KEY = `mahi_0123456789ab_${'s'.repeat(43)}`
const JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJzZWNyZXQifQ.c2lnbmVk'

function collect() {
  const lines: string[] = []
  const { logger } = createLog('trace', { write: (line: string) => void lines.push(line) })
  return { lines, log: logger }
}

test('an error is logged with its message and stack, without details from a driver', () => {
  const { lines, log } = collect()
  const refused = Object.assign(new Error('duplicate key value violates unique constraint'), {
    code: '23505',
    detail: 'Key (token)=(secret-token) already exists.',
    where: 'COPY occupation_past, line 1: "secret-row"',
    parameters: ['secret-parameter'],
  })
  refused.name = 'DatabaseError'
  log.error({ id: 'a', err: new Error('the query failed', { cause: refused }) }, 'the request failed')
  const { err, ...rest } = JSON.parse(lines.join(''))
  expect(rest).toMatchObject({ level: 'error', id: 'a', msg: 'the request failed' })
  expect(Object.keys(err)).toEqual(['type', 'message', 'stack'])
  expect(err.message).toBe('the query failed: duplicate key value violates unique constraint')
  expect(err.stack).toContain('caused by DatabaseError: duplicate key')
  expect(err.stack).toContain('log.test.ts')
  expect(lines.join('')).not.toContain('secret-')
})

test('a thrown non-error, and an endless error, are logged briefly', () => {
  const { lines, log } = collect()
  log.error({ err: { secret: 'secret-text' } }, 'failed')
  const endless = new Error('x'.repeat(100_000))
  endless.cause = endless
  log.error({ err: endless }, 'failed')
  expect(lines).toHaveLength(2)
  expect(lines.join('')).not.toContain('secret-text')
  expect(lines.join('').length).toBeLessThan(40_000)
})

test('what a library writes into its messages of a request names no key, JWT or token', () => {
  const { lines, log } = collect()
  const address = `/v1/submissions/secret-token/validation-results?key=${KEY}`
  log.warn(`Reply was already sent, did you forget to "return reply" in the "${address}" (GET) route?`)
  log.warn({ err: new Error(`Reply was already sent: ${address} with ${JWT}`) }, 'failed')
  // Fastify's own serializers of these show the URL and the sender.
  log.info({ req: { url: address, headers: { authorization: JWT } }, res: { statusCode: 200 } }, 'request')
  for (const secret of ['secret-token', 's'.repeat(43), JWT]) expect(lines.join('')).not.toContain(secret)
  expect(lines[0]).toContain('/submissions/…/validation-results?key=mahi_0123456789ab…')
  expect(Object.keys(JSON.parse(lines[2] ?? ''))).toEqual(['level', 'time', 'msg'])
})

test('a process whose log nobody reads any more still ends', async () => {
  const program = `
    import { openLog } from ${JSON.stringify(new URL('../src/api/telemetry/log.ts', import.meta.url).href)}
    const log = openLog('info', { counter: () => undefined })
    process.stdin.once('data', () => {
      // Two batches: one is being written when the process exits, the other waits.
      for (const id of [1, 2]) log.writeInfo({ id: String(id), filler: 'x'.repeat(40_000) })
      process.exit(0)
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdout.destroy()
  child.stdin.write('go')
  expect(await once(child, 'exit')).toEqual([0, null])
})
