import { describe, expect, test } from 'vitest'
import { ask, Installation } from './support/command.ts'
import { testOnSqlite } from './support/test-where.ts'

const testCommandLine = testOnSqlite('options that are refused before a database is opened')

interface NewKey {
  id: string
  clientId: string
  key: string
  scopes: string[]
  eids: string[]
  expires: string
}

async function create(mahi: Installation, ...parameters: string[]): Promise<NewKey> {
  return (await mahi.runJson(['keys', 'create', '--client', 'sms', ...parameters])) as NewKey
}

describe('keys create', () => {
  test('prints the key alone on standard output, and what it is on standard error', async () => {
    const { code, stdout, stderr } = await new Installation().run(['keys', 'create', '--client', 'sms'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^mahi_[0-9a-f]{12}_[\w-]{43}\n$/)
    expect(stderr).toMatch(/^Key mahi_[0-9a-f]{12} for sms, until 20\S+Z\. It is not shown again:\n\{.*\}\n$/)
  })

  test('with --json prints one object; without more it is for everything, no organisation and twelve months', async () => {
    const key = await create(new Installation())
    expect(Object.keys(key)).toEqual(['id', 'clientId', 'key', 'scopes', 'eids', 'expires'])
    expect(key).toMatchObject({
      clientId: 'sms',
      scopes: ['occupations:read', 'validation-results:read'],
      eids: [],
    })
    expect(key.key.startsWith(`${key.id}_`)).toBe(true)
    const inAYear = new Date()
    inAYear.setUTCFullYear(inAYear.getUTCFullYear() + 1)
    expect(Math.abs(Date.parse(key.expires) - inAYear.getTime())).toBeLessThan(60_000)
  })

  test('takes scopes, organisations and a last day', async () => {
    const scope = ['--scope', 'validation-results:read', '--scope', 'validation-results:read']
    const key = await create(new Installation(), ...scope, '--eid', '1001', '1002', '--expires', '2999-06-30')
    expect(key).toMatchObject({
      scopes: ['validation-results:read'],
      eids: ['1001', '1002'],
      expires: '2999-06-30T23:59:59.000Z',
    })
  })

  test('takes a moment, and never', async () => {
    const mahi = new Installation()
    expect((await create(mahi, '--expires', '2999-06-30T12:00:00+12:00')).expires).toBe(
      '2999-06-30T00:00:00.000Z',
    )
    expect((await create(mahi, '--expires', 'never')).expires).toBe('9999-12-31T23:59:59.999Z')
  })

  testCommandLine.each([
    ['no client', ['keys', 'create'], "required option '--client <name>' not specified"],
    [
      'a day in the past',
      ['keys', 'create', '--client', 'a', '--expires', '2020-01-01'],
      'It lies in the past.',
    ],
    [
      'a day that is none',
      ['keys', 'create', '--client', 'a', '--expires', 'soon'],
      'It should be a date such as',
    ],
    [
      'a scope that is none',
      ['keys', 'create', '--client', 'a', '--scope', 'all'],
      'Allowed choices are occupations:read',
    ],
  ])('refuses %s', async (_, parameters, message) => {
    const { code, stdout, stderr } = await new Installation().run(parameters)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(message)
  })

  testCommandLine('with --json refuses in one object as well', async () => {
    const { code, stdout, stderr } = await new Installation().run(['keys', 'create', '--json'])
    expect([code, stderr]).toEqual([1, ''])
    expect(JSON.parse(stdout)).toEqual({
      faults: [{ message: "required option '--client <name>' not specified" }],
    })
  })

  testCommandLine('refuses names that no header could carry, all at once', async () => {
    const parameters = ['keys', 'create', '--client', 'two words', '--eid', '1001', 'ā', '', '--json']
    const { code, stdout } = await new Installation().run(parameters)
    expect(code).toBe(1)
    const right = 'should be at most 64 visible ASCII characters without spaces'
    expect(JSON.parse(stdout)).toEqual({
      faults: [
        { field: '--client', message: `is "two words", and ${right}` },
        { field: '--eid', message: `has "ā", and each ${right}` },
        { field: '--eid', message: `has "", and each ${right}` },
      ],
    })
  })
})

describe('keys list', () => {
  test('tells everything but what is secret', async () => {
    const mahi = new Installation()
    const { key: _, ...first } = await create(mahi, '--eid', '1001')
    const { key, ...second } = await create(mahi, '--scope', 'occupations:read')
    await mahi.run(['keys', 'revoke', second.id])
    const { stdout } = await mahi.run(['keys', 'list', '--json'])
    expect(stdout).not.toContain(key.slice(second.id.length))
    expect(JSON.parse(stdout)).toEqual({
      keys: [
        { ...first, created: expect.any(String), revoked: null, state: 'valid' },
        { ...second, created: expect.any(String), revoked: expect.any(String), state: 'revoked' },
      ],
    })

    const text = await mahi.run(['keys', 'list'])
    expect([text.code, text.stderr]).toEqual([0, ''])
    expect(text.stdout.split('\n')).toEqual([
      expect.stringMatching(new RegExp(`^${first.id}  valid    until 20\\S+  sms  \\S+ \\S+  EID 1001$`)),
      expect.stringMatching(
        new RegExp(`^${second.id}  revoked  until 20\\S+  sms  occupations:read  no EID$`),
      ),
      '',
    ])
  })

  test('says how to make one where there is none', async () => {
    const { code, stdout, stderr } = await new Installation().run(['keys', 'list'])
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toBe('There are no keys. Make one with: mahi keys create --client NAME\n')
  })
})

test('a key works on a running server within a second of its making, and no longer once it is revoked', async () => {
  const mahi = new Installation()
  const { command, url } = await mahi.serve()
  const { id, key } = await create(mahi)
  const status = async () => (await ask(`${url}/v1/occupations`, { 'x-api-key': key })).status
  await expect.poll(status, { timeout: 5_000 }).toBe(200)

  // Whoever pastes the whole key means its id.
  const { code, stderr } = await mahi.run(['keys', 'revoke', key])
  expect([code, stderr]).toEqual([0, expect.stringContaining(`Key ${id} is revoked.\n`)])
  await expect.poll(status, { timeout: 5_000 }).toBe(401)
  expect(await mahi.runJson(['keys', 'revoke', id])).toEqual({ id, revoked: true })
  expect(command.stdout + command.stderr).not.toContain(key.slice(id.length))
})

test('a key that there is not cannot be revoked', async () => {
  const { code, stdout, stderr } = await new Installation().run(['keys', 'revoke', 'mahi_000000000000'])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('<id>: names no key: "mahi keys list" lists them\n')
})
