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

// biome-ignore lint/suspicious/noExplicitAny: a linter and the schemas of Kubernetes check the shape of these files.
type Yaml = any

/** The settings of an environment, which must exist and be valid. */
function readGiven(environment: Readonly<Record<string, unknown>> = {}) {
  const settings = withoutNodeOptions(environment)
  expect(Object.keys(settings).filter((name) => !isSetting(name))).toEqual([])
  return readSettings(Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, `${value}`])))
}

async function expectCommand(words: readonly string[]) {
  const { stdout } = await new Installation().run([...words, '--help'])
  expect(stdout).toMatch(words[0] === '--help' ? /^Usage: mahi / : `Usage: mahi ${words[0]} `)
}

/** A worker's memory has room for each check and each upload that is read meanwhile, beside the search index. */
function expectEnoughMemory(limit: string, { WORKERS, CHECK_MEMORY_MB }: ReturnType<typeof readSettings>) {
  expect(WORKERS).toBeGreaterThan(0)
  const index = Number.parseInt(limit, 10) / 3
  expect(2 * index).toBeGreaterThanOrEqual(2 * WORKERS * CHECK_MEMORY_MB + 128)
}

describe('compose.yaml', () => {
  const PASSWORDS = { POSTGRES_PASSWORD: '0123abcd', OWNER_PASSWORD: '4567abcd', MAHI_PASSWORD: '89ababcd' }
  const text = readRepositoryFile('deploy/compose.yaml')
  const { services, networks } = readYaml<Yaml>('deploy/compose.yaml', interpolate(text, PASSWORDS))
  const { proxy, worker } = services
  const all = Object.entries<Yaml>(services)
  const ours = all.filter(([, { build }]) => build !== undefined)
  const replicas = ours.filter(([, { command }]) => command[0] === 'serve')

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
    for (const name of Object.keys(PASSWORDS))
      expect(() => interpolate(text, { ...PASSWORDS, [name]: '' })).toThrow(`${name} is missing in .env`)
    const ignored = readRepositoryFile('deploy/.gitignore').split('\n')
    expect(ignored).toEqual(expect.arrayContaining(['.env', 'mahi.env']))
    const holders = (secret: string) =>
      all.flatMap(([name, { environment }]) => (JSON.stringify({ environment }).includes(secret) ? name : []))
    expect(holders(PASSWORDS.POSTGRES_PASSWORD)).toEqual(['postgres'])
    expect(holders(PASSWORDS.OWNER_PASSWORD).sort()).toEqual(['backup', 'migrate', 'postgres'])
    expect(holders(PASSWORDS.MAHI_PASSWORD).sort()).toEqual(['cli', 'mahi-1', 'mahi-2', 'postgres', 'worker'])
  })

  test.each(ours)('%s is of this version, and has a command and settings that are valid', async (_, own) => {
    expect(own.image).toBe(`mahi:${VERSION}`)
    const { DATABASE_URL, REDIS_URL = DATABASE_URL } = readGiven(own.environment)
    for (const url of [DATABASE_URL, REDIS_URL]) expect(services).toHaveProperty(new URL(url).hostname)
    await expectCommand(own.command)
  })

  test.each(all)('%s has a pinned image, no rights, and files that exist', (_, own) => {
    expect(own.image).toMatch(/^[a-z]+:\d+(?:\.\d+)*(?:-[a-z]+)?$/)
    // The image of Mahi names its user itself.
    if (own.build === undefined) expect(own.user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    const hardened = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }
    expect(own).toMatchObject(hardened)
    expect(own.cap_add ?? []).toEqual(own === proxy ? ['NET_BIND_SERVICE'] : [])
    for (const volume of (own.volumes ?? []) as string[])
      if (volume.startsWith('.'))
        expect(existsSync(join(ROOT, 'deploy', volume.split(':', 1)[0] ?? ''))).toBe(true)
  })

  test('submissions are validated by the worker only, on the disk and within its memory', () => {
    for (const [, { environment }] of replicas) expect(environment.WORKERS).toBe(0)
    expectEnoughMemory(worker.deploy.resources.limits.memory, readGiven(worker.environment))
    expect([worker.tmpfs, worker.volumes]).toEqual([[], ['checks:/data']])
  })

  test('the proxy serves all replicas, is the only one published, and the only one they believe', () => {
    expect(replicas.length).toBeGreaterThanOrEqual(2)
    const expected = replicas.map(([name, { environment }]) => `${name}:${environment.PORT}`).sort()
    expect(proxy.environment.REPLICAS.split(' ').sort()).toEqual(expected)
    const caddyfile = readRepositoryFile('deploy/Caddyfile')
    expect(caddyfile).toContain(`{$REPLICAS:${expected.join(' ')}}`)
    const port = (scheme: string) => new RegExp(`^\\s*${scheme}_port (\\d+)$`, 'm').exec(caddyfile)?.[1]
    expect(proxy.ports).toEqual([`127.0.0.1:80:${port('http')}`, `127.0.0.1:443:${port('https')}`])
    expect(all.flatMap(([name, { ports }]) => (ports === undefined ? [] : name))).toEqual(['proxy'])
    expect(networks.data.internal).toBe(true)
    for (const name of ['postgres', 'redis']) expect(services[name].networks).toEqual(['data'])
    // No other container can get its address.
    const address = proxy.networks.edge.ipv4_address
    for (const [, { environment, stop_grace_period: grace }] of replicas) {
      expect(environment.TRUST_PROXY).toBe(address)
      expect(Number.parseInt(grace, 10)).toBeGreaterThan(STOPPING_SECONDS)
    }
    const [range, bits] = networks.edge.ipam.config[0].ip_range.split('/')
    const others = new BlockList()
    others.addSubnet(range, Number(bits), 'ipv4')
    expect(others.check(address, 'ipv4')).toBe(false)
  })
})

describe('the manifests of Kubernetes', () => {
  const read = (name: string) => readManifest<Yaml>(name)
  const [deployment, worker, job] = ['deployment', 'worker', 'migration-job'].map(read)
  const config = read('config-map').data
  const secret: Record<string, string> = read('secret.example').stringData
  const [server] = deployment.spec.template.spec.containers
  const instructions = readDockerfile('deploy/Dockerfile').at(-1)?.instructions ?? []
  const wordOf = (name: string) => instructions.find((each) => each.name === name)?.words[0]
  /** The settings of a workload. */
  const settingsOf = ({ spec }: Yaml) => {
    const { env = [] } = spec.template.spec.containers[0]
    const own = env.map(({ name, value }: Yaml) => [name, value])
    return readGiven({ ...config, ...secret, ...Object.fromEntries(own) })
  }

  test('are valid by the schemas of Kubernetes, in no namespace, and applied unless they say why not', async () => {
    const { resources } = read('kustomization')
    const files = readdirSync(`${ROOT}deploy/kubernetes`)
    expect(files).toEqual(expect.arrayContaining(resources))
    for (const file of files.filter((each) => each !== 'kustomization.yaml')) {
      if (!resources.includes(file))
        expect(readRepositoryFile(`deploy/kubernetes/${file}`)).toMatch(/^# (?:Optional|An example)\b/)
      const manifest = read(file.slice(0, -'.yaml'.length))
      expect(manifest.metadata).not.toHaveProperty('namespace')
      const models = await import(/* @vite-ignore */ `kubernetes-models/${manifest.apiVersion}`)
      expect(() => new models[manifest.kind](manifest).validate(), file).not.toThrow()
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
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: user, runAsGroup: group },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    })
    expect(container).toMatchObject({
      securityContext: {
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
      },
      resources: { requests: { cpu: expect.any(String) }, limits: { memory: expect.any(String) } },
    })
    const [name, tag] = container.image.split(':')
    expect([tag, read('kustomization').images]).toEqual([
      VERSION,
      [{ name, newName: expect.anything(), newTag: tag }],
    ])
    await expectCommand(container.args)
    settingsOf(workload)
    // Only what changes tables has their owner, and nothing but it.
    expect(container.envFrom).toEqual(
      workload === job
        ? [{ secretRef: { name: 'mahi-owner' } }]
        : [{ configMapRef: { name: 'mahi' } }, { secretRef: { name: 'mahi' } }],
    )
    for (const { mountPath } of container.volumeMounts ?? []) expect(mountPath).toBe(wordOf('VOLUME'))
  })

  test('probes respond, and a new version replaces pods one by one, each with time to stop', async () => {
    const service = await Service.start()
    const { startupProbe, livenessProbe, readinessProbe } = server
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe])
      expect((await service.request({ url: httpGet.path })).statusCode).toBe(200)
    expect(String(server.ports[0].containerPort)).toBe(wordOf('EXPOSE'))
    // A lost database makes a pod unready, and must not get it killed.
    expect([livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual(['/livez', '/readyz'])
    const { replicas, strategy, template } = deployment.spec
    expect([replicas >= 2, strategy.rollingUpdate]).toEqual([true, { maxUnavailable: 0, maxSurge: 1 }])
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(STOPPING_SECONDS)
    const { periodSeconds, failureThreshold } = readinessProbe
    expect(Number(config.DRAIN_SECONDS)).toBeGreaterThan(periodSeconds * failureThreshold)
  })

  test('each selector finds its pods, and the network policy opens the ports of the settings', () => {
    const [service, budget, policy] = ['service', 'pod-disruption-budget', 'network-policy'].map(
      (name) => read(name).spec,
    )
    const found = (selector: Record<string, string>) =>
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
    const portsOf = (rules: Yaml[]) => rules.flatMap(({ ports }) => ports.map(({ port }: Yaml) => port))
    const names = server.ports.map(({ name }: Yaml) => name)
    expect(service.ports.map(({ targetPort }: Yaml) => targetPort)).toEqual(names)
    expect(portsOf(policy.ingress)).toEqual(names)
    const named = Object.values(secret).map((url) => Number(new URL(url).port))
    expect(portsOf(policy.egress)).toEqual(expect.arrayContaining([53, 443, ...named]))
  })

  test('the pods that the autoscalers allow fit into the connections of PostgreSQL', () => {
    const [servers = 0, workers = 0] = [
      { file: 'horizontal-pod-autoscaler', target: deployment },
      { file: 'worker-autoscaler', target: worker },
    ].map(({ file, target }) => {
      const { scaleTargetRef, maxReplicas } = read(file).spec
      expect(scaleTargetRef.name).toBe(target.metadata.name)
      return maxReplicas + target.spec.strategy.rollingUpdate.maxSurge
    })
    // 100 by default, of which three are the superuser's. A process listens on one more than its pool, a worker does not;
    // a job has two, and the backup one.
    const ofServers = servers * (settingsOf(deployment).DATABASE_POOL_SIZE + 1)
    expect(ofServers + workers * settingsOf(worker).DATABASE_POOL_SIZE + 3).toBeLessThanOrEqual(97)
  })

  test('submissions are validated by the workers only, within their memory and disk', () => {
    expect(config.WORKERS).toBe('0')
    const settings = settingsOf(worker)
    const { containers, volumes } = worker.spec.template.spec
    expectEnoughMemory(containers[0].resources.limits.memory, settings)
    const room = Number.parseInt(volumes[0].emptyDir.sizeLimit, 10) * 1024
    expect(room).toBeGreaterThan(settings.WORKERS * 16 * settings.UPLOAD_MAX_MB)
  })
})

describe('the units of systemd', () => {
  const units = readdirSync(`${ROOT}deploy/systemd`).filter((file) => /\.(?:service|timer)$/.test(file))
  const readUnit = (unit: string, name: string) =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(readRepositoryFile(`deploy/systemd/${unit}`))?.[1] ?? ''
  const ours = units.filter((unit) => readUnit(unit, 'ExecStart').startsWith('mahi '))

  test.each(ours)('%s has a command that exists, no rights, and reports a failure', async (unit) => {
    await expectCommand(readUnit(unit, 'ExecStart').split(' ').slice(1))
    expect(readUnit(unit, 'EnvironmentFile')).toBe('/etc/mahi/mahi.env')
    expect(units).toContain(readUnit(unit, 'OnFailure').replace('%n', ''))
    const rights = ['DynamicUser', 'NoNewPrivileges', 'ProtectSystem', 'ProtectHome', 'UMask']
    expect(rights.map((name) => readUnit(unit, name))).toEqual(['yes', 'yes', 'strict', 'yes', '0077'])
    expect(readRepositoryFile(`deploy/systemd/${unit}`)).toMatch(/^CapabilityBoundingSet=$/m)
    expect(readUnit(unit, 'StateDirectory')).toMatch(/^mahi\b/)
  })

  test('the service has the time that it needs to stop, the timer its service, and the example valid settings', () => {
    expect(ours).toHaveLength(3)
    expect(Number(readUnit('mahi.service', 'TimeoutStopSec'))).toBeGreaterThan(STOPPING_SECONDS)
    for (const timer of units.filter((unit) => unit.endsWith('.timer')))
      expect(ours).toContain(timer.replace('.timer', '.service'))
    const settings = readRepositoryFile('deploy/systemd/mahi.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)
    readGiven(Object.fromEntries([...settings].map(([, name = '', value = '']) => [name, value])))
  })
})
