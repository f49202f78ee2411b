import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hidePassword, listSettings, readSettings, SETTINGS, SettingsRefused } from '../src/settings.ts'
import { temporaryFolder } from './support/temporary.ts'

/** What is wrong with an environment, one sentence each. */
function complain(environment: Record<string, string>): readonly string[] {
  try {
    readSettings(environment)
    return []
  } catch (error) {
    if (error instanceof SettingsRefused) return error.faults.map(({ message }) => message)
    throw error
  }
}

test('nothing has to be set, and then only this machine is served, and trusted', () => {
  expect(readSettings({})).toMatchObject({
    HOST: '127.0.0.1',
    OCCUPATIONS_ACCESS: 'key',
    RATE_LIMIT_FAILED_CREDENTIALS: { requests: 30, seconds: 60 },
    TRUST_PROXY: false,
    METRICS_PORT: { host: '127.0.0.1', port: 9464 },
  })
})

test('an empty value counts as not given, and white space around a value as nothing', () => {
  expect(readSettings({ PORT: '', HOST: '  ', LOG_LEVEL: ' warn ' })).toMatchObject({
    PORT: 8080,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
  })
})

test('other variables of the environment are ignored', () => {
  expect(readSettings({ PATH: '/bin', PORTS: '1' })).toEqual(readSettings({}))
})

test('every fault is named at once, in the order of the list', () => {
  expect(
    complain({
      LOG_LEVEL: 'loud',
      PORT: '80a',
      RATE_LIMIT_RESULTS: '10',
      CORS_ORIGINS: 'careers.example',
    }),
  ).toEqual([
    'PORT must be a whole number from 0 to 65535, not "80a"',
    'RATE_LIMIT_RESULTS must be requests/seconds such as 600/60, or off, not "10"',
    'CORS_ORIGINS must be * or comma-separated origins such as https://careers.example, not "careers.example"',
    'LOG_LEVEL must be fatal, error, warn, info, debug, trace or silent, not "loud"',
  ])
})

test('every setting can be faulty at once, and each is named once', () => {
  const environment = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '\u0000']))
  const faults = complain(environment)
  // Names of hosts and of claims are texts: whether they are any good shows when they are used.
  const texts = /^(?:HOST|DEFINITIONS|ERASURE_LOG|(?:CHECK|SNAPSHOT)_FOLDER|JWT_(?!JWKS)\w+|OIDC_CLIENT_\w+)$/
  const others = Object.keys(SETTINGS).filter((name) => !texts.test(name))
  expect(faults.map((fault) => fault.split(' ')[0])).toEqual(others)
})

describe('a number must consist of digits', () => {
  test.each(['1e2', '0x10', '+5', '-1', '5.0', '5 0', '٥', '65536', '99999999999'])('PORT=%s', (text) => {
    expect(complain({ PORT: text })).toEqual([
      `PORT must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`,
    ])
  })
})

test('a URL that is none is refused with an example of its setting', () => {
  expect(complain({ PUBLIC_URL: 'mahi' })).toEqual([
    'PUBLIC_URL must be a URL such as https://mahi.example.nz, not "mahi"',
  ])
})

test('an identity provider without its client, or without the console, stops the start', () => {
  const whole = {
    CONSOLE: 'on',
    OIDC_ISSUER: 'https://login.example',
    OIDC_CLIENT_ID: 'mahi',
    PUBLIC_URL: 'https://mahi.example.nz',
  }
  expect(complain({ ...whole, OIDC_CLIENT_SECRET: 's' })).toEqual([])
  expect(complain({ ...whole, OIDC_CLIENT_ID: '', PUBLIC_URL: '' })).toEqual([
    'OIDC_CLIENT_ID and PUBLIC_URL must also be set: OIDC_ISSUER, OIDC_CLIENT_ID, PUBLIC_URL only work together',
  ])
  for (const CONSOLE of ['off', ''])
    expect(complain({ ...whole, CONSOLE })).toEqual([
      'CONSOLE must be on: OIDC_ISSUER names the identity provider for signing in to it',
    ])
  expect(complain({ OIDC_CLIENT_SECRET: 's' })).toEqual([
    'OIDC_ISSUER must also be set: OIDC_CLIENT_SECRET is of no use without it',
  ])
})

test('the metrics have a port of their own, unless there are none or any will do', () => {
  expect(complain({ PORT: '9464' })).toEqual(['METRICS_PORT and PORT must be different, not both 9464'])
  expect(complain({ PORT: '0', METRICS_PORT: '0' })).toEqual([])
  expect(complain({ PORT: 'a', METRICS_PORT: 'b' })).toHaveLength(2)
})

test('a setting of several parts says which parts it has', () => {
  const { RATE_LIMIT_OCCUPATIONS, CORS_ORIGINS, TRUST_PROXY } = readSettings({
    RATE_LIMIT_OCCUPATIONS: '5/1',
    CORS_ORIGINS: 'https://careers.example, http://localhost:3000',
    TRUST_PROXY: '10.0.0.0/8, ::1',
  })
  expect([RATE_LIMIT_OCCUPATIONS, CORS_ORIGINS, TRUST_PROXY]).toEqual([
    { requests: 5, seconds: 1 },
    ['https://careers.example', 'http://localhost:3000'],
    ['10.0.0.0/8', '::1'],
  ])
})

test.each([
  ['RATE_LIMIT_OCCUPATIONS', 'off', '0/60 60/0 600 600/ /60 600/60s -1/60 OFF'],
  [
    'DATABASE_URL',
    'sqlite:a.db sqlite:/var/lib/mahi/mahi.db postgres://mahi@db/mahi postgresql://db/mahi',
    'a.db sqlite: sqlite::memory: mysql://db/mahi postgres:db postgres://db:port/',
  ],
  [
    'REDIS_URL',
    'redis://cache redis://:secret@cache:6379/ rediss://mahi:secret@10.0.0.7:6380/2',
    'cache:6379 http://cache redis:// redis://cache/x redis://cache?password=s',
  ],
  ['CORS_ORIGINS', '*', 'careers.example https://careers.example/ https://a.example,, *,https://a.example'],
  ['TRUST_PROXY', '::1', 'true proxy.example 10.0.0 256.1.1.1 10.0.0.0/33 ::1/129 ::/ . abc'],
])('%s has no other form', (name, valid, others) => {
  for (const text of valid.split(' ')) expect([text, ...complain({ [name]: text })]).toEqual([text])
  for (const text of others.split(' ')) expect([text, complain({ [name]: text }).length]).toEqual([text, 1])
})

test('the settings of an identity provider belong together', () => {
  const JWT = { JWT_ISSUER: 'a', JWT_AUDIENCE: 'mahi', JWT_JWKS_URL: 'https://i.example/keys' }
  expect(complain(JWT)).toEqual([])
  for (const left of Object.keys(JWT))
    expect(complain({ ...JWT, [left]: '' })).toEqual([expect.stringContaining(`${left} must also be set`)])
  expect(complain({ JWT_ISSUER: 'https://login.example' })).toEqual([
    'JWT_AUDIENCE and JWT_JWKS_URL must also be set: JWT_ISSUER, JWT_AUDIENCE, JWT_JWKS_URL only work together',
  ])
})

describe('a password', () => {
  const addresses = [
    ['postgres://mahi:secret@db/mahi', 'postgres://mahi:***@db/mahi'],
    ['postgres://mahi:sec:ret@db:5432/mahi', 'postgres://mahi:***@db:5432/mahi'],
    ['postgres://mahi:secr@et@db/mahi', 'postgres://mahi:***@db/mahi'],
    ['postgres://mahi:secret/@db/mahi', 'postgres://mahi:***@db/mahi'],
    ['redis://:secret@cache:6379/0', 'redis://:***@cache:6379/0'],
    [
      'postgres://mahi@db/mahi?password=secret&sslmode=require',
      'postgres://mahi@db/mahi?password=***&sslmode=require',
    ],
    ['postgres://mahi@db/mahi?sslpassword=secret', 'postgres://mahi@db/mahi?sslpassword=***'],
  ] as const

  test.each(addresses)('%s is shown as %s', (address, shown) => {
    expect(hidePassword(address)).toBe(shown)
  })

  test('is in no list of the settings', () => {
    for (const [address] of addresses) {
      const list = listSettings({ DATABASE_URL: address, REDIS_URL: address })
      expect(JSON.stringify(list)).not.toContain('secr')
    }
  })

  test('is in no fault', () => {
    for (const name of ['DATABASE_URL', 'REDIS_URL']) {
      const faults = complain({ [name]: 'nonsense:secret@db' })
      expect(faults).toHaveLength(1)
      expect(faults[0]).not.toContain('secret')
    }
  })

  test.each(['postgres://db/mahi', 'sqlite:var/mahi.db', 'postgres://mahi@db:5432/mahi?sslmode=require'])(
    'that is not there hides nothing of %s',
    (address) => expect(hidePassword(address)).toBe(address),
  )
})

test('the list shows every setting with its value and source', () => {
  const list = listSettings({ PORT: '9000', REDIS_URL: '' })
  expect(list.map(({ name }) => name)).toEqual(Object.keys(SETTINGS))
  expect(list.find(({ name }) => name === 'PORT')).toMatchObject({ value: '9000', source: 'environment' })
  expect(list.find(({ name }) => name === 'HOST')).toMatchObject({ value: '127.0.0.1', source: 'default' })
  expect(list.find(({ name }) => name === 'REDIS_URL')).toMatchObject({ value: '', source: 'default' })
  for (const { meaning } of list) expect(meaning).toMatch(/^\S.*\S$/)
})

describe('a secret in a file', () => {
  const write = (text: string) => {
    const file = join(temporaryFolder(), 'secret')
    writeFileSync(file, text)
    return file
  }

  test('is read from the file in its _FILE setting', () => {
    const url = 'postgres://mahi:secret@db/mahi'
    const environment = { DATABASE_URL_FILE: write(`${url}\n`), REDIS_URL_FILE: write('redis://cache') }
    expect(readSettings(environment)).toMatchObject({ DATABASE_URL: url, REDIS_URL: 'redis://cache' })
    const listed = listSettings(environment).find(({ name }) => name === 'DATABASE_URL')
    expect(listed).toMatchObject({ value: 'postgres://mahi:***@db/mahi', source: 'file' })
  })

  test('can be the encryption keys, one on each line', () => {
    const keys = [1, 2].map((byte) => `k${byte}:${Buffer.alloc(32, byte).toString('base64')}`)
    const environment = { ENCRYPTION_KEYS_FILE: write(`${keys.join('\n')}\n`) }
    expect(readSettings(environment)).toEqual(readSettings({ ENCRYPTION_KEYS: keys.join(',') }))
    const listed = listSettings(environment).find(({ name }) => name === 'ENCRYPTION_KEYS')
    expect(listed).toMatchObject({ value: '***', source: 'file' })
  })

  test('cannot be given twice, and has to be there', () => {
    expect(complain({ DATABASE_URL: 'sqlite:a.db', DATABASE_URL_FILE: write('sqlite:b.db') })).toEqual([
      'DATABASE_URL and DATABASE_URL_FILE are both set. Set one of them.',
    ])
    const absent = join(temporaryFolder(), 'absent')
    expect(complain({ ENCRYPTION_KEYS_FILE: write('short') })).toEqual([
      expect.stringMatching(/^The file of ENCRYPTION_KEYS_FILE must be pairs/),
    ])
    expect(complain({ REDIS_URL_FILE: absent })).toEqual([
      `REDIS_URL_FILE names "${absent}", which cannot be read (ENOENT).`,
    ])
    const empty = write(' \n')
    expect(complain({ REDIS_URL_FILE: empty })).toEqual([`REDIS_URL_FILE names "${empty}", which is empty.`])
  })
})

test.each([
  'postgres://h1,h2/mahi',
  'postgres://mahi:secret@h1:5432,h2:5433/mahi',
  'postgres://h1/mahi?target_session_attrs=read-write',
  'postgres:///mahi?host=h1,h2',
])('an address of several servers is refused, with what to do: %s', (url) => {
  const [fault, ...others] = complain({ DATABASE_URL: url })
  expect(others).toEqual([])
  expect(fault).toContain('DATABASE_URL names several hosts or target_session_attrs, which is not supported')
  expect(fault).toContain('"Failover" in docs/operations.md')
  expect(fault).not.toContain('secret')
})
