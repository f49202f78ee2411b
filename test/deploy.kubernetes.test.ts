import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../src/settings.ts'
import {
  isSetting,
  ROOT,
  readDockerfile,
  readRepositoryFile,
  readYaml,
  STOPPING_SECONDS,
  VERSION,
} from './support/deploy.ts'
import { Service } from './support/service.ts'

const run = promisify(execFile)

type Labels = Record<string, string>
interface Probe {
  httpGet: { path: string; port: string }
  periodSeconds: number
  failureThreshold: number
  timeoutSeconds?: number
}
interface Container {
  image: string
  args: string[]
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
  ports?: { name: string; containerPort: number }[]
  securityContext: object
  resources: { requests: Labels; limits: Labels }
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
}
interface Workload extends Metadata {
  spec: {
    replicas: number
    selector: { matchLabels: Labels }
    strategy: { rollingUpdate: { maxUnavailable: number; maxSurge: number } }
    template: {
      metadata: { labels: Labels }
      spec: {
        restartPolicy?: string
        terminationGracePeriodSeconds?: number
        automountServiceAccountToken: boolean
        securityContext: object
        containers: [Container]
      }
    }
  }
}
interface Metadata {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
}

const folder = 'deploy/kubernetes'
const read = <T>(name: string) => readYaml<T>(`${folder}/${name}`)
const files = readdirSync(`${ROOT}${folder}`)
const kustomization = read<{
  resources: string[]
  images: { name: string; newName: string; newTag: string }[]
}>('kustomization.yaml')
const deployment = read<Workload>('deployment.yaml')
const job = read<Workload>('migration-job.yaml')
const configMap = read<Metadata & { data: Labels }>('config-map.yaml')
const secret = read<Metadata & { stringData: Labels }>('secret.example.yaml')
const autoscaler = read<
  Metadata & { spec: { scaleTargetRef: object; minReplicas: number; maxReplicas: number } }
>('horizontal-pod-autoscaler.yaml')

const [server] = deployment.spec.template.spec.containers
const [image] = readDockerfile('deploy/Dockerfile').slice(-1)
const wordOf = (name: string) =>
  image?.instructions.find((instruction) => instruction.name === name)?.words[0]
const matches = (selector: Labels, labels: Labels) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

test('every file is applied, or says itself why it is not', () => {
  for (const name of kustomization.resources) expect(files).toContain(name)
  for (const name of files) {
    if (name === 'kustomization.yaml' || kustomization.resources.includes(name)) continue
    expect(readRepositoryFile(`${folder}/${name}`)).toMatch(/^# (?:Optional|An example)\b/)
  }
  for (const name of files.filter((each) => each !== 'kustomization.yaml')) {
    const { kind, apiVersion, metadata } = read<Metadata>(name)
    expect([kind, apiVersion]).toEqual([expect.any(String), expect.stringMatching(/^(?:[a-z0-9.]+\/)?v\d$/)])
    expect(metadata.name).toMatch(/^mahi/)
    // They go where kubectl is pointed at.
    expect(metadata.namespace).toBeUndefined()
  }
})

test('every setting in the config map and the secret is one, and the service takes them together', () => {
  const settings = { ...configMap.data, ...secret.stringData }
  expect(Object.keys(settings).filter((name) => !isSetting(name))).toEqual([])
  expect(readSettings(settings)).toMatchObject({ DRAIN_SECONDS: expect.any(Number) })
  expect(Object.keys(configMap.data).filter((name) => name in secret.stringData)).toEqual([])
})

test('no value of the example of a secret could be a real one', () => {
  for (const value of Object.values(secret.stringData)) {
    const { password, hostname } = new URL(value)
    expect(password).toBe('not-a-real-password')
    expect(hostname).toMatch(/\.example$/)
  }
})

describe.each([
  ['the deployment', deployment],
  ['the migration job', job],
] as const)('%s', (_, { spec }) => {
  const pod = spec.template.spec
  const [container] = pod.containers

  test('meets the restricted pod security standard, with a read-only file system', () => {
    const [user, group] = (wordOf('USER') ?? '').split(':').map(Number)
    expect(pod.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(user).toBeGreaterThan(0)
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.automountServiceAccountToken).toBe(false)
  })

  test('runs this version of the image, which the kustomization names', () => {
    const [name, tag] = container.image.split(':')
    expect(tag).toBe(VERSION)
    expect(kustomization.images).toEqual([expect.objectContaining({ name, newTag: VERSION })])
  })

  test('runs a command that exists, with the settings', async () => {
    const { stdout } = await run(process.execPath, [`${ROOT}bin/mahi.js`, ...container.args, '--help'])
    expect(stdout).toMatch(`Usage: mahi ${container.args[0]} `)
    expect(container.envFrom).toEqual([
      { configMapRef: { name: configMap.metadata.name } },
      { secretRef: { name: secret.metadata.name } },
    ])
  })

  test('asks for memory, and has a limit of it', () => {
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    })
  })
})

test('the probes ask for what the service answers, at the port where it listens', async () => {
  const service = await Service.start()
  for (const probe of [server.startupProbe, server.livenessProbe, server.readinessProbe]) {
    expect((await service.request({ url: probe?.httpGet.path ?? '' })).statusCode).toBe(200)
    expect(server.ports?.map(({ name }) => name)).toContain(probe?.httpGet.port)
  }
  expect(String(server.ports?.[0]?.containerPort)).toBe(wordOf('EXPOSE'))
  // A database that is away makes a pod unready, and must not get it killed.
  expect(server.livenessProbe?.httpGet.path).toBe('/livez')
  expect(server.readinessProbe?.httpGet.path).toBe('/readyz')
})

test('a new version replaces pods one by one, and each has time to stop', () => {
  expect(deployment.spec.replicas).toBeGreaterThanOrEqual(2)
  expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
  expect(deployment.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(STOPPING_SECONDS)
  const { readinessProbe } = server
  const noticed = (readinessProbe?.periodSeconds ?? 0) * (readinessProbe?.failureThreshold ?? 0)
  expect(Number(configMap.data.DRAIN_SECONDS)).toBeGreaterThan(noticed)
})

test('each selector finds the pods of the deployment, and those of the job only where it should', () => {
  const { spec: service } = read<{ spec: { selector: Labels; ports: { targetPort: string }[] } }>(
    'service.yaml',
  )
  const { spec: budget } = read<{ spec: { selector: { matchLabels: Labels }; maxUnavailable: number } }>(
    'pod-disruption-budget.yaml',
  )
  const { spec: policy } = read<{
    spec: { podSelector: { matchLabels: Labels }; ingress: { ports: { port: string }[] }[] }
  }>('network-policy.yaml')
  const pods = deployment.spec.template.metadata.labels
  const jobs = job.spec.template.metadata.labels
  for (const selector of [
    service.selector,
    budget.selector.matchLabels,
    deployment.spec.selector.matchLabels,
  ]) {
    expect([matches(selector, pods), matches(selector, jobs)]).toEqual([true, false])
  }
  const { matchLabels } = policy.podSelector
  expect([matches(matchLabels, pods), matches(matchLabels, jobs)]).toEqual([true, true])
  expect(budget.maxUnavailable).toBeLessThan(deployment.spec.replicas)
  const ports = server.ports?.map(({ name }) => name)
  expect(ports).toEqual(service.ports.map(({ targetPort }) => targetPort))
  expect(ports).toEqual(policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port)))
})

test('the network policy lets the service reach what its settings name', () => {
  const { spec } = read<{ spec: { egress: { ports: { port: number }[] }[] } }>('network-policy.yaml')
  const open = spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port))
  const named = Object.values(secret.stringData).map((address) => Number(new URL(address).port))
  expect(open).toEqual(expect.arrayContaining([53, 443, ...named]))
})

test('the pods that the autoscaler allows fit into the connections of PostgreSQL', () => {
  const { scaleTargetRef, minReplicas, maxReplicas } = autoscaler.spec
  const { apiVersion, kind, metadata } = deployment
  expect(scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name })
  expect(minReplicas).toBeGreaterThanOrEqual(2)
  // 100 by default, of which three are the superuser's. A process listens on one more than its pool; a job has two.
  const pods = maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge
  expect(pods * (Number(configMap.data.DATABASE_POOL_SIZE) + 1) + 2).toBeLessThanOrEqual(97)
})
