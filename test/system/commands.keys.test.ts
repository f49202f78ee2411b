import { describe, expect, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { ask, Installation } from '../support/command.ts'
import { withDatabase } from '../support/opened.ts'

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
    expect(stderr).toMatch(
      /^\{.*\}\nKey mahi_[0-9a-f]{12} for sms, valid until \d+ \w+ 20\d\d, \d\d:\d\d\. It will not be shown again:\n$/,
    )
  })

  test('makes a key for reading, for no organisation and for twelve months, unless options say otherwise', async () => {
    const mahi = new Installation()
    const key = await create(mahi)
    expect(Object.keys(key)).toEqual(['id', 'clientId', 'key', 'scopes', 'eids', 'expires'])
    const scopes = ['occupations:read', 'validation-results:read']
    expect(key).toMatchObject({ clientId: 'sms', scopes, eids: [] })
    expect(key.key.startsWith(`${key.id}_`)).toBe(true)
    const inAYear = new Date()
    inAYear.setUTCFullYear(inAYear.getUTCFullYear() + 1)
    expect(Math.abs(Date.parse(key.expires) - inAYear.getTime())).toBeLessThan(86_400_000)
    const scope = ['--scope', 'validation-results:read', '--scope', 'validation-results:read']
    expect(await create(mahi, ...scope, '--eid', '1001', '1002')).toMatchObject({
      scopes: ['validation-results:read'],
      eids: ['1001', '1002'],
    })
    for (const [given, expires] of [
      ['2999-06-30', '2999-06-30T23:59:59.000Z'],
      ['2999-06-30T12:00:00+12:00', '2999-06-30T00:00:00.000Z'],
      ['never', '9999-12-31T23:59:59.999Z'],
    ] as const)
      expect((await create(mahi, '--expires', given)).expires).toBe(expires)
  })

  test.each([
    ['no client', [], "required option '--client <name>' not specified"],
    ['a day in the past', ['--client', 'a', '--expires', '2020-01-01'], 'It is in the past.'],
    ['an invalid date', ['--client', 'a', '--expires', 'soon'], 'It must be a date such as 2027-06-30'],
    ['an unknown scope', ['--client', 'a', '--scope', 'all'], 'Allowed choices are occupations:read'],
  ])('refuses %s', async (_, parameters, message) => {
    const refused = await new Installation().run(['keys', 'create', ...parameters])
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
  })

  test('refuses names that no header could carry, all at once', async () => {
    const parameters = ['keys', 'create', '--client', 'two  spaces', '--eid', '1001', 'ā,', '--json']
    const { code, stdout } = await new Installation().run(parameters)
    const { faults } = JSON.parse(stdout) as { faults: { field: string }[] }
    expect([code, faults.map(({ field }) => field)]).toEqual([1, ['--client', '--eid', '--eid']])
  })
})

test('keys list shows keys by their state, and no secret', async () => {
  const mahi = new Installation()
  const { key: _, ...first } = await create(mahi, '--eid', '1001')
  const { key, ...second } = await create(mahi, '--scope', 'occupations:read')
  await mahi.run(['keys', 'revoke', second.id])
  await withDatabase(mahi.databaseUrl, (database) =>
    createKey(database, { client: 'old', expires: Date.now() - 1 }),
  )
  const { stdout } = await mahi.run(['keys', 'list', '--json'])
  expect(stdout).not.toContain(key.slice(second.id.length))
  const made = { created: expect.any(String), lastUsed: null }
  expect(JSON.parse(stdout)).toEqual({
    keys: [
      { ...first, ...made, revoked: null, state: 'valid' },
      { ...second, ...made, revoked: expect.any(String), state: 'revoked' },
      expect.objectContaining({ clientId: 'old', state: 'expired' }),
    ],
  })
  const text = await mahi.run(['keys', 'list'])
  expect([text.code, text.stderr]).toEqual([0, ''])
  expect(text.stdout.split('\n').slice(0, 2)).toEqual([
    expect.stringMatching(new RegExp(`^${first.id}  valid    until 20\\S+  sms  \\S+ \\S+  EID 1001$`)),
    expect.stringMatching(new RegExp(`^${second.id}  revoked  until 20\\S+  sms  occupations:read  no EID$`)),
  ])
})

describe('keys rotate and rename', () => {
  test('say to the minute how long each key is valid', async () => {
    const mahi = new Installation()
    const { id } = await create(mahi, '--expires', 'never')
    const rotate = (...parameters: string[]) => mahi.run(['keys', 'rotate', id, ...parameters])
    const before = await rotate('--overlap', '1', '--expires', 'never')
    expect(before.stderr).toMatch(/^Key \S+ for sms is valid until \d+ \w+ \d{4}, \d\d:\d\d\.$/m)
    expect(before.stderr).toMatch(
      /^Key \S+ replaces it, valid without an end\. It will not be shown again:$/m,
    )
    expect((await rotate('--overlap', '0')).stderr).toMatch(/^Key \S+ for sms is no longer valid\.$/m)
  })

  test('a rotated key and its successor are valid at once, until the older one ends', async () => {
    const mahi = new Installation()
    const old = await create(mahi, '--eid', '1001', '--scope', 'occupations:read')
    const made = (await mahi.runJson(['keys', 'rotate', old.id, '--overlap', '3'])) as NewKey & {
      replaces: { id: string; expires: string }
    }
    expect(made).toMatchObject({
      clientId: 'sms',
      scopes: old.scopes,
      eids: ['1001'],
      replaces: { id: old.id },
    })
    const days = (Date.parse(made.replaces.expires) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(2.9)
    expect(days).toBeLessThanOrEqual(3)
    const { url } = await mahi.serve()
    for (const { key } of [old, made])
      expect((await ask(`${url}/v1/occupations`, { 'x-api-key': key })).status).toBe(200)

    const { keys } = (await mahi.runJson(['keys', 'list'])) as { keys: { id: string; expires: string }[] }
    expect(keys.map(({ id, expires }) => [id, expires])).toEqual([
      [old.id, made.replaces.expires],
      [made.id, made.expires],
    ])
    await mahi.run(['keys', 'revoke', old.id])
    expect((await mahi.run(['keys', 'rotate', old.id])).stderr).toContain('names no valid key')
  })

  test('a renamed key is for the other client', async () => {
    const mahi = new Installation()
    const { id } = await create(mahi)
    await mahi.runJson(['keys', 'rename', id, '--client', 'Te Pūkenga'])
    const { keys } = (await mahi.runJson(['keys', 'list'])) as { keys: { clientId: string }[] }
    expect(keys).toMatchObject([{ clientId: 'Te Pūkenga' }])
    expect((await mahi.run(['keys', 'rename', 'mahi_0', '--client', 'a'])).stderr).toContain('names no key')
  })
})

test('keys list shows when a key was last used, once the service has stored it', async () => {
  const mahi = new Installation()
  const [used, unused] = [await create(mahi), await create(mahi)]
  const { url, command } = await mahi.serve()
  expect((await ask(`${url}/v1/occupations`, { 'x-api-key': used.key })).status).toBe(200)
  await command.stop()
  const { keys } = (await mahi.runJson(['keys', 'list'])) as {
    keys: { id: string; lastUsed: string | null }[]
  }
  const lastUsed = (id: string) => keys.find((key) => key.id === id)?.lastUsed
  expect(lastUsed(used.id)).toMatch(/^20.*Z$/)
  expect(lastUsed(unused.id)).toBeNull()
})
