import { existsSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { DCLinter } from 'dclint'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../src/settings.ts'
import { InstallationHere } from './support/command-here.ts'
import {
  isSetting,
  ROOT,
  readRepositoryFile,
  readYaml,
  STOPPING_SECONDS,
  VERSION,
  withoutNodeOptions,
} from './support/deploy.ts'
import { temporaryFolder } from './support/temporary.ts'

interface Service {
  image: string
  build?: { context: string; dockerfile: string }
  user?: string
  command?: string[]
  env_file?: { path: string; required: boolean }[]
  environment?: Record<string, string | number>
  read_only?: boolean
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  stop_grace_period?: string
  networks: string[] | Record<string, { ipv4_address: string }>
  depends_on?: Record<string, { condition: string }>
  ports?: string[]
  volumes?: string[]
  tmpfs?: string | string[]
  healthcheck?: { test?: string[] }
  deploy?: { resources: { limits: { cpus: string; memory: string } } }
}
interface Compose {
  services: Record<string, Service>
  networks: Record<
    string,
    { internal?: boolean; ipam?: { config: { subnet: string; gateway: string; ip_range: string }[] } }
  >
  volumes: Record<string, null>
}

const text = readRepositoryFile('deploy/compose.yaml')
const example = readRepositoryFile('deploy/.env.example')
const { services, networks, volumes } = readYaml<Compose>(
  'deploy/compose.yaml',
  interpolate(text, { POSTGRES_PASSWORD: '0123abcd', OWNER_PASSWORD: '4567abcd', MAHI_PASSWORD: '89ababcd' }),
)
const all = Object.entries(services)
const ours = all.filter(([, { image }]) => image.startsWith('mahi:'))
const replicas = ours.filter(([, { command }]) => command?.[0] === 'serve')
const proxy = services.proxy as Service

/** `${NAME}`, `${NAME:-default}` and `${NAME:?message}`, as Compose reads them. */
function interpolate(source: string, environment: Record<string, string>): string {
  return source.replace(/\$\{(\w+)(?::(-|\?)([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
    const value = environment[name]
    if (value) return value
    if (kind === '-') return rest
    throw new Error(`${name} ${rest}`)
  })
}

test('it follows the Compose specification', () => {
  const style = [
    'no-quotes-in-volumes',
    'service-keys-order',
    'services-alphabetical-order',
    'top-level-properties-order',
  ]
  // It takes a variable for an absent address.
  const mistaken = ['no-unbound-port-interfaces']
  const rules = Object.fromEntries([...style, ...mistaken].map((rule) => [rule, 0 as const]))
  const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] })
  const lint = (path: string) => {
    const results: { messages: { rule: string }[] }[] = linter.lintFiles([path], false)
    return results.flatMap(({ messages }) => messages)
  }
  expect(lint(`${ROOT}deploy/compose.yaml`)).toEqual([])
  // It finds what is wrong.
  const wrong = join(temporaryFolder(), 'compose.yaml')
  writeFileSync(wrong, text.replace('stop_grace_period: 15s', 'stop_grace_period: [15]'))
  expect(lint(wrong)).toMatchObject([{ rule: 'invalid-schema' }])
})

test('nothing starts without a password', () => {
  const given = { POSTGRES_PASSWORD: 'a', OWNER_PASSWORD: 'b', MAHI_PASSWORD: 'c' }
  for (const name of Object.keys(given)) {
    expect(() => interpolate(text, { ...given, [name]: '' })).toThrow(`${name} is missing in .env`)
    expect(example).toMatch(new RegExp(`^${name}=$`, 'm'))
  }
  expect(readRepositoryFile('deploy/.gitignore').split('\n')).toEqual(
    expect.arrayContaining(['.env', 'mahi.env']),
  )
})

test('every name in the example of .env is used in compose.yaml, and every one of mahi.env is a setting', () => {
  const namesIn = (source: string) => [...source.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name ?? '')
  expect(namesIn(example)).toContain('SITE_ADDRESS')
  for (const name of namesIn(example)) expect(text.includes(`\${${name}`), name).toBe(true)
  const settings = namesIn(readRepositoryFile('deploy/mahi.env.example'))
  expect(settings.length).toBeGreaterThan(0)
  for (const name of settings) expect(isSetting(name), name).toBe(true)
})

test('each container gets only the secrets that it needs', () => {
  const holders = (secret: string) =>
    all
      .filter(([, { environment = {} }]) =>
        Object.values(environment).some((value) => `${value}`.includes(secret)),
      )
      .map(([name]) => name)
      .sort()
  expect(holders('0123abcd')).toEqual(['postgres'])
  expect(holders('4567abcd')).toEqual(['backup', 'migrate', 'postgres'])
  expect(holders('89ababcd')).toEqual(['cli', 'mahi-1', 'mahi-2', 'postgres', 'worker'])
  for (const [name, { env_file = [] }] of all)
    for (const { path } of env_file) expect([name, path]).toEqual([name, 'mahi.env'])
})

test('there are two replicas, and the proxy names them all at the port where they listen', () => {
  expect(replicas.length).toBeGreaterThanOrEqual(2)
  const expected = replicas.map(([name, { environment }]) => `${name}:${environment?.PORT}`)
  expect(String(proxy.environment?.REPLICAS).split(' ').sort()).toEqual(expected.sort())
  expect(readRepositoryFile('deploy/Caddyfile')).toContain(`{$REPLICAS:${expected.join(' ')}}`)
})

describe.each(ours)('%s', (_, { image, build, command = [], environment = {}, env_file }) => {
  test('is built from the Dockerfile, as this version', () => {
    expect(image).toBe(`mahi:${VERSION}`)
    expect(existsSync(join(ROOT, 'deploy', build?.context ?? '', build?.dockerfile ?? ''))).toBe(true)
    // The file of the passwords is for Compose, not for a container.
    expect(env_file).toEqual(command[0] === 'migrate' ? [] : [{ path: 'mahi.env', required: false }])
  })

  test('has settings that exist and are valid', () => {
    expect(Object.keys(withoutNodeOptions(environment)).filter((name) => !isSetting(name))).toEqual([])
    const given = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, `${value}`]))
    const { DATABASE_URL, REDIS_URL } = readSettings(given)
    expect(Object.keys(services)).toContain(new URL(DATABASE_URL).hostname)
    if (REDIS_URL !== undefined) expect(Object.keys(services)).toContain(new URL(REDIS_URL).hostname)
  })

  test('runs a command that exists', async () => {
    const { stdout } = await new InstallationHere().run([...command, '--help'])
    expect(stdout).toMatch(command[0] === '--help' ? /^Usage: mahi / : `Usage: mahi ${command[0]} `)
  })
})

describe.each(all)('%s', (_, service) => {
  test('has an image that is pinned', () => {
    expect(service.image).toMatch(/^[a-z]+:\d+(?:\.\d+)*(?:-[a-z]+)?$/)
  })

  test('is not root, writes to no image, and can gain no right', () => {
    // The image of Mahi names its user itself.
    if (service.build === undefined) expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
    expect(service.cap_add ?? []).toEqual(service === proxy ? ['NET_BIND_SERVICE'] : [])
  })

  test('depends on services, joins networks and mounts volumes that are there', () => {
    for (const name of Object.keys(service.depends_on ?? {})) expect(services).toHaveProperty(name)
    const joined = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks)
    for (const name of joined) expect(networks).toHaveProperty(name)
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('.')) expect(existsSync(join(ROOT, 'deploy', source)), source).toBe(true)
      else expect(volumes).toHaveProperty(source)
    }
  })
})

test('what stays running has limits, and time to stop', () => {
  for (const [name, { deploy, stop_grace_period, command }] of all) {
    if (['migrate', 'cli'].includes(name)) continue
    expect(deploy?.resources.limits, name).toMatchObject({
      cpus: expect.any(String),
      memory: expect.any(String),
    })
    if (command?.[0] === 'serve')
      expect(Number.parseInt(stop_grace_period ?? '', 10)).toBeGreaterThan(STOPPING_SECONDS)
  }
})

test('submissions are validated by the worker alone, on the disk and within its memory', () => {
  for (const [, { environment }] of replicas) expect(environment?.WORKERS).toBe(0)
  const { worker } = services
  expect(worker?.command).toEqual(['work'])
  const given = Object.entries(worker?.environment ?? {}).map(([name, value]) => [name, `${value}`])
  const { WORKERS, CHECK_MEMORY_MB } = readSettings(Object.fromEntries(given))
  expect(WORKERS).toBeGreaterThan(0)
  const memory = Number.parseInt(worker?.deploy?.resources.limits.memory ?? '', 10)
  expect(memory).toBeGreaterThanOrEqual(WORKERS * CHECK_MEMORY_MB + 128)
  expect([worker?.tmpfs, worker?.volumes]).toEqual([[], ['checks:/data']])
})

test('replicas start after the migration, and the migration after the database', () => {
  for (const { depends_on } of [...replicas.map(([, each]) => each), services.worker as Service]) {
    expect(depends_on?.migrate?.condition).toBe('service_completed_successfully')
  }
  expect(services.migrate?.depends_on?.postgres?.condition).toBe('service_healthy')
})

test("replicas believe the proxy's address alone, and no other container can get it", () => {
  const [range] = networks.edge?.ipam?.config ?? []
  const address = Array.isArray(proxy.networks) ? undefined : proxy.networks.edge?.ipv4_address
  for (const [, { environment }] of replicas) expect(environment?.TRUST_PROXY).toBe(address)
  expect(contains(range?.subnet, address)).toBe(true)
  expect(contains(range?.ip_range, address)).toBe(false)
  expect(address).not.toBe(range?.gateway)
})

test('only the proxy is published, and the data is reached by nobody else', () => {
  expect(all.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['proxy'])
  expect(networks.data?.internal).toBe(true)
  for (const name of ['postgres', 'redis']) expect(services[name]?.networks).toEqual(['data'])
})

test('the ports that are published are those of the Caddyfile', () => {
  const caddyfile = readRepositoryFile('deploy/Caddyfile')
  const [, http] = /^\s*http_port (\d+)$/m.exec(caddyfile) ?? []
  const [, https] = /^\s*https_port (\d+)$/m.exec(caddyfile) ?? []
  expect(proxy.ports).toEqual([`127.0.0.1:80:${http}`, `127.0.0.1:443:${https}`])
  expect(proxy.volumes).toContain(`./Caddyfile:${proxy.command?.[3]}:ro`)
})

function contains(range: string | undefined, address: string | undefined): boolean {
  const [network = '', bits] = (range ?? '').split('/')
  const list = new BlockList()
  list.addSubnet(network, Number(bits), 'ipv4')
  return list.check(address ?? '', 'ipv4')
}
