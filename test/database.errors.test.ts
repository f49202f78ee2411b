import { expect, test } from 'vitest'
import { DatabaseFull, DatabaseUnavailable, DatabaseUnusable } from '../src/foundation/database/database.ts'
import { explain, ServerSilent } from '../src/foundation/database/postgres-errors.ts'

const explainCode = (code: string, more: object = {}) =>
  explain(Object.assign(new Error('an English sentence of the driver'), { code, ...more }), 'postgres://a/b')

test.each([
  ['no answer', 'ETIMEDOUT', ServerSilent],
  ['a connection that the other end closed before a write', 'EPIPE', DatabaseUnavailable],
  ['a lost connection', '08006', DatabaseUnavailable],
  ['a server that shuts down', '57P01', DatabaseUnavailable],
  ['a query that took too long', '57014', DatabaseUnavailable],
  ['too many connections', '53300', DatabaseUnavailable],
  ['a read-only server', '25006', DatabaseUnavailable],
  ['a full disk', '53100', DatabaseFull],
  ['a wrong password', '28P01', DatabaseUnusable],
  ['an absent database', '3D000', DatabaseUnusable],
  ['absent privileges', '42501', DatabaseUnusable],
])('%s is explained in one sentence that names the server', (_, code, kind) => {
  const explained = explainCode(code)
  expect(explained).toBeInstanceOf(kind)
  expect((explained as Error).message).toMatch(/^postgres:\/\/a\/b [^\n]+$/)
})

test('a failed system call of the network is explained, and any other error is left as it is', () => {
  expect(explainCode('ECONNREFUSED', { syscall: 'connect' })).toBeInstanceOf(DatabaseUnavailable)
  for (const error of [
    explainCode('ENOENT', { syscall: 'open' }),
    explainCode('23505'),
    explain('text', 'a'),
  ])
    expect(error).not.toBeInstanceOf(DatabaseUnusable)
})
