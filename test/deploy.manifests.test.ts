import { existsSync, readdirSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { DCLinter } from 'dclint'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../src/settings.ts'
import { Installation } from './support/command.ts'
import {
  isSetting,
  ROOT,
  readDockerfile,
  readManifest,
  readRepositoryFile,
  readYaml,
  STOPPING_SECONDS,
  VERSION,
  withoutNodeOptions,
} from './support/deploy.ts'
import { Service } from './support/service.ts'

type Labels = Record<string, string>

/** The settings of an environment, which must exist. */
function settingsOf(environment: Record<string, string | number> = {}): Record<string, string> {
  const settings = withoutNodeOptions(environment)
  expect(Object.keys(settings).filter((name) => !isSetting(name))).toEqual([])
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, `${value}`]))
}

async function expectCommand(words: readonly string[]) {
  const { stdout } = await new Installation().run([...words, '--help'])
  expect(stdout).toMatch(words[0] === '--help' ? /^Usage: mahi / : `Usage: mahi ${words[0]} `)
}

describe('compose.yaml', () => {
  interface Container {
    image: string
    build?: object
    user?: string
    command?: string[]
    environment?: Record<string, string | number>
    stop_grace_period?: string
    networks: string[] | Record<string, { ipv4_address: string }>
    depends_on?: Record<string, { condition: string }>
    ports?: string[]
    volumes?: string[]
    tmpfs?: string[]
    deploy?: { resources: { limits: { cpus: string; memory: string } } }
  }
  const PASSWORDS = { POSTGRES_PASSWORD: '0123abcd', OWNER_PASSWORD: '4567abcd', MAHI_PASSWORD: '89ababcd' }
  const text = readRepositoryFile('deploy/compose.yaml')
  const { services, networks } = readYaml<{
    services: Record<string, Container>
    networks: {
      edge: { ipam: { config: [{ ip_range: string }] } }
      data: { internal: boolean }
    }
  }>('deploy/compose.yaml', interpolate(text, PASSWORDS))
  const all = Object.entries(services)
  const ours = all.filter(([, { build }]) => build !== undefined)
  const replicas = ours.filter(([, { command }]) => command?.[0] === 'serve')
  const { proxy, worker } = services as { proxy: Container; worker: Container }
  const caddyfile = readRepositoryFile('deploy/Caddyfile')

  /** `${NAME}`, `${NAME:-default}` and `${NAME:?message}`, as Compose reads them. */
  function interpolate(source: string, environment: Record<string, string>): string {
    return source.replace(/\$\{(\w+)(?::(-|\?)([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
      const value = environment[name]
      if (value) return value
      if (kind === '-') return rest
      throw new Error(`${name} ${rest}`)
    })
  }

  test('follows the Compose specification', () => {
    const style = ['no-quotes-in-volumes', 'service-keys-order', 'services-alphabetical-order']
    // The last takes a variable for an absent address.
    const others = ['top-level-properties-order', 'no-unbound-port-interfaces']
    const rules = Object.fromEntries([...style, ...others].map((rule) => [rule, 0 as const]))
    const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] })
    const results: { messages: object[] }[] = linter.lintFiles([`${ROOT}deploy/compose.yaml`], false)
    expect(results.flatMap(({ messages }) => messages)).toEqual([])
  })

  test('nothing starts without a password, and each container gets only those that it needs', () => {
    const example = readRepositoryFile('deploy/.env.example')
    for (const name of Object.keys(PASSWORDS)) {
      expect(() => interpolate(text, { ...PASSWORDS, [name]: '' })).toThrow(`${name} is missing in .env`)
      expect(example).toMatch(new RegExp(`^${name}=$`, 'm'))
    }
    const ignored = readRepositoryFile('deploy/.gitignore').split('\n')
    expect(ignored).toEqual(expect.arrayContaining(['.env', 'mahi.env']))
    const holders = (secret: string) =>
      all
        .filter(([, { environment = {} }]) => JSON.stringify(environment).includes(secret))
        .map(([name]) => name)
        .sort()
    expect(holders(PASSWORDS.POSTGRES_PASSWORD)).toEqual(['postgres'])
    expect(holders(PASSWORDS.OWNER_PASSWORD)).toEqual(['backup', 'migrate', 'postgres'])
    expect(holders(PASSWORDS.MAHI_PASSWORD)).toEqual(['cli', 'mahi-1', 'mahi-2', 'postgres', 'worker'])
  })

  test('every name in the examples of .env and mahi.env is used', () => {
    const namesIn = (path: string) =>
      [...readRepositoryFile(path).matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name)
    for (const name of namesIn('deploy/.env.example')) expect(text).toContain(`\${${name}`)
    const settings = namesIn('deploy/mahi.env.example')
    expect([settings.length > 0, settings.filter((name) => !isSetting(name))]).toEqual([true, []])
  })

  test.each(ours)('%s is of this version, and has a command and settings that are valid', async (_, own) => {
    expect(own.image).toBe(`mahi:${VERSION}`)
    const { DATABASE_URL, REDIS_URL = DATABASE_URL } = readSettings(settingsOf(own.environment))
    for (const url of [DATABASE_URL, REDIS_URL]) expect(services).toHaveProperty(new URL(url).hostname)
    await expectCommand(own.command ?? [])
  })

  test.each(all)('%s has a pinned image, no rights, and limits if it stays running', (name, own) => {
    expect(own.image).toMatch(/^[a-z]+:\d+(?:\.\d+)*(?:-[a-z]+)?$/)
    // The image of Mahi names its user itself.
    if (own.build === undefined) expect(own.user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(own).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
    expect('cap_add' in own ? own.cap_add : []).toEqual(own === proxy ? ['NET_BIND_SERVICE'] : [])
    for (const volume of own.volumes ?? [])
      if (volume.startsWith('.'))
        expect(existsSync(join(ROOT, 'deploy', volume.split(':')[0] ?? ''))).toBe(true)
    if (!['migrate', 'cli'].includes(name))
      expect(own.deploy?.resources.limits).toMatchObject({
        cpus: expect.any(String),
        memory: expect.any(String),
      })
    if (own.command?.[0] === 'serve')
      expect(Number.parseInt(own.stop_grace_period ?? '', 10)).toBeGreaterThan(STOPPING_SECONDS)
  })

  test('submissions are validated by the worker only, on the disk and within its memory', () => {
    for (const [, { environment }] of replicas) expect(environment?.WORKERS).toBe(0)
    const { WORKERS, CHECK_MEMORY_MB } = readSettings(settingsOf(worker.environment))
    expect([worker.command, WORKERS > 0]).toEqual([['work'], true])
    const memory = Number.parseInt(worker.deploy?.resources.limits.memory ?? '', 10)
    // Of each validation and of each upload that is read meanwhile, beside the search index.
    expect((memory * 2) / 3).toBeGreaterThanOrEqual(2 * WORKERS * CHECK_MEMORY_MB + 128)
    expect([worker.tmpfs, worker.volumes]).toEqual([[], ['checks:/data']])
  })

  test('replicas and worker start after the migration, and the migration after the database', () => {
    for (const { depends_on } of [...replicas.map(([, each]) => each), worker])
      expect(depends_on?.migrate?.condition).toBe('service_completed_successfully')
    expect(services.migrate?.depends_on?.postgres?.condition).toBe('service_healthy')
  })

  test('the proxy serves all replicas, is the only one published, and the only one they believe', () => {
    expect(replicas.length).toBeGreaterThanOrEqual(2)
    const expected = replicas.map(([name, { environment }]) => `${name}:${environment?.PORT}`).sort()
    expect(String(proxy.environment?.REPLICAS).split(' ').sort()).toEqual(expected)
    expect(caddyfile).toContain(`{$REPLICAS:${expected.join(' ')}}`)
    expect(all.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['proxy'])
    const port = (scheme: string) => new RegExp(`^\\s*${scheme}_port (\\d+)$`, 'm').exec(caddyfile)?.[1]
    expect(proxy.ports).toEqual([`127.0.0.1:80:${port('http')}`, `127.0.0.1:443:${port('https')}`])
    expect(proxy.volumes).toContain(`./Caddyfile:${proxy.command?.[3]}:ro`)
    expect(networks.data.internal).toBe(true)
    for (const name of ['postgres', 'redis']) expect(services[name]?.networks).toEqual(['data'])
    // No other container can get its address.
    const address = Array.isArray(proxy.networks) ? '' : (proxy.networks.edge?.ipv4_address ?? '')
    for (const [, { environment }] of replicas) expect(environment?.TRUST_PROXY).toBe(address)
    const [{ ip_range }] = networks.edge.ipam.config
    const [range = '', bits] = ip_range.split('/')
    const others = new BlockList()
    others.addSubnet(range, Number(bits), 'ipv4')
    expect(others.check(address, 'ipv4')).toBe(false)
  })
})

describe('the manifests of Kubernetes', () => {
  interface Probe {
    httpGet: { path: string; port: string }
    periodSeconds: number
    failureThreshold: number
  }
  interface Workload {
    spec: {
      replicas: number
      selector: { matchLabels: Labels }
      strategy: { rollingUpdate: { maxUnavailable: number; maxSurge: number } }
      template: {
        metadata: { labels: Labels }
        spec: {
          terminationGracePeriodSeconds?: number
          automountServiceAccountToken: boolean
          securityContext: object
          containers: [
            {
              image: string
              args: string[]
              envFrom: object[]
              env?: { name: string; value: string }[]
              volumeMounts?: object[]
              ports?: { name: string; containerPort: number }[]
              securityContext: object
              resources: { limits: Labels }
              startupProbe: Probe
              livenessProbe: Probe
              readinessProbe: Probe
            },
          ]
          volumes?: { name: string; emptyDir?: { sizeLimit: string } }[]
        }
      }
    }
  }
  const deployment = readManifest<Workload>('deployment')
  const worker = readManifest<Workload>('worker')
  const job = readManifest<Workload>('migration-job')
  const { data: config } = readManifest<{ data: Labels }>('config-map')
  const { stringData: secret } = readManifest<{ stringData: Labels }>('secret.example')
  const { stringData: ownerSecret } = readManifest<{ stringData: Labels }>('owner-secret.example')
  const [server] = deployment.spec.template.spec.containers
  const instructions = readDockerfile('deploy/Dockerfile').at(-1)?.instructions ?? []
  const wordOf = (name: string) => instructions.find((each) => each.name === name)?.words[0]
  const overriddenBy = ({ spec }: Workload) => {
    const env = spec.template.spec.containers[0].env ?? []
    return settingsOf(Object.fromEntries(env.map(({ name, value }) => [name, value])))
  }
  const checks = readSettings(overriddenBy(worker))

  test('are valid by the schemas of Kubernetes, in no namespace, and applied unless they say why not', async () => {
    const { resources } = readManifest<{ resources: string[] }>('kustomization')
    const files = readdirSync(`${ROOT}deploy/kubernetes`)
    expect(files).toEqual(expect.arrayContaining(resources))
    for (const file of files.filter((each) => each !== 'kustomization.yaml')) {
      if (!resources.includes(file))
        expect(readRepositoryFile(`deploy/kubernetes/${file}`)).toMatch(/^# (?:Optional|An example)\b/)
      const manifest = readManifest<{ apiVersion: string; kind: string; metadata: object }>(
        file.slice(0, -'.yaml'.length),
      )
      expect(manifest.metadata).toMatchObject({ name: expect.stringMatching(/^mahi/) })
      expect(manifest.metadata).not.toHaveProperty('namespace')
      const models: Record<string, new (manifest: object) => { validate(): void }> = await import(
        /* @vite-ignore */ `kubernetes-models/${manifest.apiVersion}`
      )
      const Manifest = models[manifest.kind]
      if (Manifest === undefined) throw new Error(`${file}: no kind ${manifest.kind}`)
      expect(() => new Manifest(manifest).validate(), file).not.toThrow()
    }
  })

  test('the settings of the config map and the example secret are valid, and no secret could be a real one', () => {
    readSettings(settingsOf({ ...config, ...secret }))
    expect(Object.keys(config).filter((name) => name in secret)).toEqual([])
    for (const value of [...Object.values(secret), ownerSecret.DATABASE_URL ?? '']) {
      const { password, hostname } = new URL(value)
      expect([password, hostname]).toEqual(['not-a-real-password', expect.stringMatching(/\.example$/)])
    }
  })

  test.each([
    ['the deployment', deployment],
    ['the worker', worker],
    ['the migration job', job],
  ])('%s is restricted, and has a command, settings and limits', async (_, workload) => {
    const pod = workload.spec.template.spec
    const [container] = pod.containers
    const [user, group] = (wordOf('USER') ?? '').split(':').map(Number)
    const hardened = { runAsNonRoot: true, runAsUser: user, runAsGroup: group }
    expect(pod.securityContext).toMatchObject({ ...hardened, seccompProfile: { type: 'RuntimeDefault' } })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.automountServiceAccountToken).toBe(false)
    const { images } = readManifest<{ images: object[] }>('kustomization')
    const [name, tag] = container.image.split(':')
    expect([tag, images]).toEqual([VERSION, [expect.objectContaining({ name, newTag: VERSION })]])
    await expectCommand(container.args)
    // Only what changes tables has their owner, and nothing but it.
    expect(container.envFrom).toEqual(
      workload === job
        ? [{ secretRef: { name: 'mahi-owner' } }]
        : [{ configMapRef: { name: 'mahi' } }, { secretRef: { name: 'mahi' } }],
    )
    readSettings({ ...config, ...secret, ...overriddenBy(workload) })
    expect(container.volumeMounts ?? []).toEqual(
      (pod.volumes ?? []).map((volume) => ({ name: volume.name, mountPath: wordOf('VOLUME') })),
    )
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    })
  })

  test('probes respond, and a new version replaces pods one by one, each with time to stop', async () => {
    const service = await Service.start()
    for (const { httpGet } of [server.startupProbe, server.livenessProbe, server.readinessProbe]) {
      expect((await service.request({ url: httpGet.path })).statusCode).toBe(200)
      expect(server.ports?.map(({ name }) => name)).toContain(httpGet.port)
    }
    expect(String(server.ports?.[0]?.containerPort)).toBe(wordOf('EXPOSE'))
    // A lost database makes a pod unready, and must not get it killed.
    expect([server.livenessProbe.httpGet.path, server.readinessProbe.httpGet.path]).toEqual([
      '/livez',
      '/readyz',
    ])
    const { spec } = deployment
    expect([spec.replicas >= 2, spec.strategy.rollingUpdate]).toEqual([
      true,
      { maxUnavailable: 0, maxSurge: 1 },
    ])
    expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(STOPPING_SECONDS)
    const { periodSeconds, failureThreshold } = server.readinessProbe
    expect(Number(config.DRAIN_SECONDS)).toBeGreaterThan(periodSeconds * failureThreshold)
  })

  test('each selector finds its pods, and the network policy opens the ports of the settings', () => {
    const service = readManifest<{ spec: { selector: Labels; ports: { targetPort: string }[] } }>(
      'service',
    ).spec
    const budget = readManifest<Workload>('pod-disruption-budget').spec
    const policy = readManifest<{
      spec: {
        podSelector: { matchLabels: Labels }
        ingress: { ports: { port: string }[] }[]
        egress: { ports: { port: number }[] }[]
      }
    }>('network-policy').spec
    const found = (selector: Labels) =>
      [deployment, job, worker].map(({ spec }) =>
        Object.entries(selector).every(([name, value]) => spec.template.metadata.labels[name] === value),
      )
    for (const selector of [
      service.selector,
      budget.selector.matchLabels,
      deployment.spec.selector.matchLabels,
    ])
      expect(found(selector)).toEqual([true, false, false])
    expect(found(worker.spec.selector.matchLabels)).toEqual([false, false, true])
    expect(found(policy.podSelector.matchLabels)).toEqual([true, true, true])
    const ports = server.ports?.map(({ name }) => name)
    expect(ports).toEqual(service.ports.map(({ targetPort }) => targetPort))
    expect(ports).toEqual(policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port)))
    const open = policy.egress.flatMap((rule) => rule.ports.map(({ port }) => port))
    const named = Object.values(secret).map((url) => Number(new URL(url).port))
    expect(open).toEqual(expect.arrayContaining([53, 443, ...named]))
  })

  test('the pods that the autoscalers allow fit into the connections of PostgreSQL', () => {
    const counts = (['horizontal-pod-autoscaler', 'worker-autoscaler'] as const).map((file, index) => {
      const { spec } = readManifest<{ spec: { scaleTargetRef: object; maxReplicas: number } }>(file)
      const name = index === 0 ? 'mahi' : 'mahi-worker'
      expect(spec.scaleTargetRef).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name })
      return spec.maxReplicas + (index === 0 ? deployment : worker).spec.strategy.rollingUpdate.maxSurge
    })
    // 100 by default, of which three are the superuser's. A process listens on one more than its pool, a worker does not;
    // a job has two, and the backup one.
    const [servers = 0, workers = 0] = counts
    const ofServers = servers * (Number(config.DATABASE_POOL_SIZE) + 1)
    expect(ofServers + workers * checks.DATABASE_POOL_SIZE + 3).toBeLessThanOrEqual(97)
  })

  test('submissions are validated by the workers only, within their memory and disk', () => {
    expect([config.WORKERS, checks.WORKERS > 0]).toEqual(['0', true])
    const { containers, volumes } = worker.spec.template.spec
    const memory = Number.parseInt(containers[0].resources.limits.memory ?? '', 10)
    expect((memory * 2) / 3).toBeGreaterThanOrEqual(2 * checks.WORKERS * checks.CHECK_MEMORY_MB + 128)
    const room = Number.parseInt(volumes?.[0]?.emptyDir?.sizeLimit ?? '', 10) * 1024
    expect(room).toBeGreaterThan(checks.WORKERS * 16 * checks.UPLOAD_MAX_MB)
  })
})

describe('the units of systemd', () => {
  const units = readdirSync(`${ROOT}deploy/systemd`).filter((file) => /\.(?:service|timer)$/.test(file))
  const readUnit = (unit: string, name: string) =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(readRepositoryFile(`deploy/systemd/${unit}`))?.[1] ?? ''
  const ours = units.filter((unit) => readUnit(unit, 'ExecStart').startsWith('mahi '))

  test.each(ours)(
    '%s has a command and settings that exist, no rights, and reports a failure',
    async (unit) => {
      await expectCommand(readUnit(unit, 'ExecStart').split(' ').slice(1))
      expect(readUnit(unit, 'EnvironmentFile')).toBe('/etc/mahi/mahi.env')
      expect(units).toContain(readUnit(unit, 'OnFailure').replace('%n', ''))
      for (const [name, value] of [
        ['DynamicUser', 'yes'],
        ['NoNewPrivileges', 'yes'],
        ['ProtectSystem', 'strict'],
        ['ProtectHome', 'yes'],
        ['UMask', '0077'],
        ['CapabilityBoundingSet', ''],
      ] as const)
        expect([name, readUnit(unit, name)]).toEqual([name, value])
      expect(readUnit(unit, 'StateDirectory')).toMatch(/^mahi\b/)
    },
  )

  test('the service has the time that it needs to stop, and the timer its service', () => {
    expect(ours).toHaveLength(3)
    expect(Number(readUnit('mahi.service', 'TimeoutStopSec'))).toBeGreaterThan(STOPPING_SECONDS)
    for (const timer of units.filter((unit) => unit.endsWith('.timer')))
      expect(ours).toContain(timer.replace('.timer', '.service'))
    const settings = readRepositoryFile('deploy/systemd/mahi.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)
    readSettings(
      settingsOf(Object.fromEntries([...settings].map(([, name = '', value = '']) => [name, value]))),
    )
  })
})
