import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSettings } from '../../src/settings.ts'
import { ask, Installation } from '../support/command.ts'
import { InstallationHere } from '../support/command-here.ts'
import {
  isSetting,
  ROOT,
  readDockerfile,
  readRepositoryFile,
  readYaml,
  STOPPING_SECONDS,
  VERSION,
  withoutNodeOptions,
} from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { findPostgres } from '../support/find-postgres.ts'
import { Service } from '../support/service.ts'
import { readState } from '../support/state.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

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
  env?: { name: string; value: string }[]
  volumeMounts?: { name: string; mountPath: string }[]
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
        volumes?: { name: string; emptyDir?: { sizeLimit: string } }[]
      }
    }
  }
}
interface Metadata {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
}
interface Autoscaler extends Metadata {
  spec: {
    scaleTargetRef: object
    minReplicas: number
    maxReplicas: number
    metrics?: { external?: { metric: { name: string } } }[]
  }
}
interface BackupPod {
  metadata: { labels: Labels }
  spec: {
    securityContext: object
    volumes: object[]
    containers: [
      {
        command: string[]
        args: string[]
        env: [{ valueFrom: { secretKeyRef: { name: string; key: string } } }]
        volumeMounts: object[]
        securityContext: object
      },
    ]
  }
}

const folder = 'deploy/kubernetes'
const read = <T>(name: string) => readYaml<T>(`${folder}/${name}`)
const files = readdirSync(`${ROOT}${folder}`)
const kustomization = read<{
  resources: string[]
  images: { name: string; newName: string; newTag: string }[]
}>('kustomization.yaml')
const deployment = read<Workload>('deployment.yaml')
const worker = read<Workload>('worker.yaml')
const job = read<Workload>('migration-job.yaml')
const configMap = read<Metadata & { data: Labels }>('config-map.yaml')
const secret = read<Metadata & { stringData: Labels }>('secret.example.yaml')
const ownerSecret = read<Metadata & { stringData: Labels }>('owner-secret.example.yaml')
const autoscaler = read<Autoscaler>('horizontal-pod-autoscaler.yaml')
const workerAutoscaler = read<Autoscaler>('worker-autoscaler.yaml')

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

test('every manifest is valid by the schemas of Kubernetes', async () => {
  interface Model {
    new (manifest: object): { validate(): void }
  }
  const folder = 'deploy/kubernetes'
  const files = readdirSync(`${ROOT}/${folder}`).filter((name) => name !== 'kustomization.yaml')
  expect(files.length).toBeGreaterThan(10)
  for (const file of files) {
    const manifest = readYaml(`${folder}/${file}`) as { apiVersion: string; kind: string; spec?: object }
    const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<string, Model>
    const Manifest = models[manifest.kind]
    if (Manifest === undefined) throw new Error(`${file}: no kind ${manifest.kind}`)
    expect(() => new Manifest(manifest).validate(), file).not.toThrow()
    expect(() => new Manifest({ ...manifest, metadata: { labels: [1] } }).validate(), file).toThrow()
  }
})

test('every setting in the config map and the secret exists, and together they are valid', () => {
  const settings = { ...configMap.data, ...secret.stringData }
  expect(Object.keys(settings).filter((name) => !isSetting(name))).toEqual([])
  expect(readSettings(settings)).toMatchObject({ DRAIN_SECONDS: expect.any(Number) })
  expect(Object.keys(configMap.data).filter((name) => name in secret.stringData)).toEqual([])
})

test('no value of the example of a secret could be a real one', () => {
  for (const value of Object.values({
    ...secret.stringData,
    owner: ownerSecret.stringData.DATABASE_URL ?? '',
  })) {
    const { password, hostname } = new URL(value)
    expect(password).toBe('not-a-real-password')
    expect(hostname).toMatch(/\.example$/)
  }
})

describe.each([
  ['the deployment', deployment],
  ['the worker', worker],
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
      // One of the few that the standard permits, from Kubernetes 1.32, for what answers clients.
      ...(spec === deployment.spec && {
        sysctls: [{ name: 'net.ipv4.tcp_wmem', value: expect.any(String) }],
      }),
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
    const { stdout } = await new InstallationHere().run([...container.args, '--help'])
    expect(stdout).toMatch(`Usage: mahi ${container.args[0]} `)
    // Only what changes tables has their owner, and nothing but it.
    expect(container.envFrom).toEqual(
      spec === job.spec
        ? [{ secretRef: { name: ownerSecret.metadata.name } }]
        : [
            { configMapRef: { name: configMap.metadata.name } },
            { secretRef: { name: secret.metadata.name } },
          ],
    )
  })

  test('overrides settings that exist, and mounts volumes that it has at the folder of the image', () => {
    const overridden = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]))
    expect(Object.keys(withoutNodeOptions(overridden)).filter((name) => !isSetting(name))).toEqual([])
    readSettings({ ...configMap.data, ...secret.stringData, ...overridden })
    expect(container.volumeMounts ?? []).toEqual(
      (pod.volumes ?? []).map(({ name }) => ({ name, mountPath: wordOf('VOLUME') })),
    )
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
  const workers = worker.spec.template.metadata.labels
  for (const selector of [
    service.selector,
    budget.selector.matchLabels,
    deployment.spec.selector.matchLabels,
  ]) {
    expect([pods, jobs, workers].map((labels) => matches(selector, labels))).toEqual([true, false, false])
  }
  const { matchLabels } = policy.podSelector
  for (const labels of [pods, jobs, workers]) expect(matches(matchLabels, labels)).toBe(true)
  const ofWorker = worker.spec.selector.matchLabels
  expect([pods, jobs, workers].map((labels) => matches(ofWorker, labels))).toEqual([false, false, true])
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

/** The settings of the worker that override those of the config map. */
const workerSettings = readSettings(
  Object.fromEntries(
    (worker.spec.template.spec.containers[0].env ?? []).map((each) => [each.name, each.value]),
  ),
)

test('the pods that the autoscalers allow fit into the connections of PostgreSQL', () => {
  for (const [{ spec }, { apiVersion, kind, metadata }] of [
    [autoscaler, deployment],
    [workerAutoscaler, worker],
  ] as const) {
    expect(spec.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name })
  }
  expect(autoscaler.spec.minReplicas).toBeGreaterThanOrEqual(2)
  // 100 by default, of which three are the superuser's. A process listens on one more than its pool, a worker does not;
  // a job has two, and the backup one.
  const connections = [autoscaler.spec.maxReplicas, workerAutoscaler.spec.maxReplicas]
  const [servers = 0, workers = 0] = [deployment, worker].map(
    ({ spec }, index) => (connections[index] ?? 0) + spec.strategy.rollingUpdate.maxSurge,
  )
  const ofServers = servers * (Number(configMap.data.DATABASE_POOL_SIZE) + 1)
  expect(ofServers + workers * workerSettings.DATABASE_POOL_SIZE + 3).toBeLessThanOrEqual(97)
})

test('submissions are validated by the workers alone, within their memory and disk', () => {
  expect(configMap.data.WORKERS).toBe('0')
  expect(workerSettings.WORKERS).toBeGreaterThan(0)
  const [{ resources }] = worker.spec.template.spec.containers
  const ofChecks = workerSettings.WORKERS * workerSettings.CHECK_MEMORY_MB
  expect(Number.parseInt(resources.limits.memory ?? '', 10)).toBeGreaterThanOrEqual(ofChecks + 128)
  const [volume] = worker.spec.template.spec.volumes ?? []
  const room = Number.parseInt(volume?.emptyDir?.sizeLimit ?? '', 10) * 1024
  expect(room).toBeGreaterThan(workerSettings.WORKERS * workerSettings.CHECK_DISK_MB)
})

test('workers are added by a metric that the service has and the comment defines', () => {
  const text = readRepositoryFile(`${folder}/worker-autoscaler.yaml`)
  const own = readRepositoryFile('src/operate/gauges.ts')
  for (const [name] of text.matchAll(/mahi_jobs_[a-z]+/g)) expect(own).toContain(`'${name}'`)
  for (const { external } of workerAutoscaler.spec.metrics ?? [])
    expect(text).toContain(`as: ${external?.metric.name} }`)
})

test('the ingress leads to the service, and the backup keeps what it dumps', () => {
  const { spec } = read<{
    spec: {
      tls: { hosts: string[] }[]
      rules: { host: string; http: { paths: { backend: { service: object } }[] } }[]
    }
  }>('ingress.yaml')
  const service = read<Metadata & { spec: { ports: { name: string }[] } }>('service.yaml')
  const port = { name: service.spec.ports[0]?.name }
  for (const { host, http } of spec.rules) {
    expect(spec.tls.flatMap(({ hosts }) => hosts)).toContain(host)
    for (const { backend } of http.paths)
      expect(backend.service).toEqual({ name: service.metadata.name, port })
  }
  const backup = read<{ spec: { jobTemplate: { spec: { template: BackupPod } } } }>('backup-cron-job.yaml')
  const { metadata, spec: pod } = backup.spec.jobTemplate.spec.template
  const { containers, volumes, securityContext } = pod
  const claim = read<Metadata>('backup-claim.yaml').metadata.name
  expect(volumes).toEqual([{ name: 'backups', persistentVolumeClaim: { claimName: claim } }])
  expect(containers[0].volumeMounts).toEqual([{ name: 'backups', mountPath: '/backups' }])
  const { name, key } = containers[0].env[0].valueFrom.secretKeyRef
  expect([name, Object.keys(ownerSecret.stringData)]).toEqual([
    ownerSecret.metadata.name,
    expect.arrayContaining([key]),
  ])
  // It is one of those that the network policy lets reach PostgreSQL, and none that the service sends requests to.
  expect(metadata.labels).toMatchObject({
    'app.kubernetes.io/name': 'mahi',
    'app.kubernetes.io/component': 'backup',
  })
  expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  expect(containers[0].securityContext).toEqual(server.securityContext)
})

const testYaml = testWhere(
  spawnSync('yamllint', ['--version']).status === 0,
  'yamllint is not installed (Debian has a package of this name): the YAML files of deploy',
)

testYaml('yamllint has nothing to say against any YAML file of deploy', () => {
  // Only what changes the meaning of a file: repeated keys, unquoted yes and no, octal numbers, wrong indentation.
  const rules = ['truthy', 'octal-values', 'key-duplicates', 'indentation']
  const enabled = rules.map((rule) => `${rule}: enable`).join(', ')
  const { status, stdout } = spawnSync(
    'yamllint',
    ['--strict', '--format=parsable', `--config-data={rules: {${enabled}}}`, 'deploy'],
    { cwd: ROOT, encoding: 'utf8' },
  )
  expect([status, stdout]).toEqual([0, ''])
})

const postgresUrl = await findPostgres()
const testDump = testWhere(
  postgresUrl !== undefined && spawnSync('pg_dump', ['--version']).status === 0,
  'there is no PostgreSQL, or pg_dump is not installed: the script of the backup',
)

testDump('the script of the backup keeps fourteen dumps, and a dump restores everything', async () => {
  const [original, copy] = [await createDatabase(), await createDatabase()]
  const { headers } = await fillDatabase(original)
  const backup = read<{ spec: { jobTemplate: { spec: { template: BackupPod } } } }>('backup-cron-job.yaml')
  const { command, args } = backup.spec.jobTemplate.spec.template.spec.containers[0]
  const backups = temporaryFolder()
  for (let day = 10; day < 26; day++) writeFileSync(`${backups}/mahi-202601${day}T023000Z.backup`, '')
  const [shell = '', ...options] = command
  const script = (args[0] ?? '').replace('cd /backups', `cd ${backups}`)
  const start = async (program: string, parameters: readonly string[]) =>
    await run(program, parameters, { env: { ...process.env, DATABASE_URL: original } })
  expect((await start(shell, [...options, script])).stderr).toBe('')
  const kept = readdirSync(backups).sort()
  expect(kept).toHaveLength(14)
  expect(kept[0]).toBe('mahi-20260113T023000Z.backup')
  const dump = `${backups}/${kept.at(-1)}`
  const recorded = () =>
    withDatabase(original, (database) => database.get('select finished, failed, reason from backup'))
  expect(await recorded()).toMatchObject({ finished: expect.any(Number), failed: null })

  // As in "Restoring" of docs/operations.md: into an empty database, and over one that is in use.
  await start('pg_restore', ['--no-owner', '--exit-on-error', `--dbname=${copy}`, dump])
  const before = await withDatabase(original, readState)
  expect(before.catalogue.size).toBe(60)
  expect(await withDatabase(copy, readState)).toEqual(before)
  const environment = { DATABASE_URL: copy }
  const mahi = new Installation()
  await mahi.runJson(['occupations', 'import', '-'], { environment, input: '{"occupationCode":"LATER"}' })
  await mahi.runJson(['restore', '--replace', dump], { environment })
  expect(await withDatabase(copy, readState)).toEqual(before)
  const { url } = await mahi.serve(environment)
  expect((await ask(`${url}/v1/occupations`, headers)).status).toBe(200)

  // As in "Going back": a backup of Mahi's own, with the tools of PostgreSQL.
  const [own, third] = [`${backups}/mahi.backup`, await createDatabase()]
  await mahi.runJson(['backup', own], { environment })
  await start('pg_restore', ['--no-owner', '--schema=public', '--exit-on-error', `--dbname=${third}`, own])
  expect(await withDatabase(third, readState)).toEqual(before)

  // A night that fails is recorded, and removes nothing.
  const failing = script.replace(`cd ${backups}`, `cd ${backups}\n pg_dump() { return 1; }`)
  await expect(start(shell, [...options, failing])).rejects.toThrow()
  expect(await recorded()).toMatchObject({
    finished: expect.any(Number),
    failed: expect.any(Number),
    reason: 'the backup job failed: its log says why',
  })
  expect(readdirSync(backups)).toContain(kept.at(-1))
})

test('the script of the backup passes the password in the environment, where nobody else can read it', async () => {
  const backup = read<{ spec: { jobTemplate: { spec: { template: BackupPod } } } }>('backup-cron-job.yaml')
  const { command, args } = backup.spec.jobTemplate.spec.template.spec.containers[0]
  const [shell = '', ...options] = command
  const folder = temporaryFolder()
  const recorded = join(folder, 'recorded')
  const program = `#!/bin/sh\nprintf '%s\\n' "$PGPASSWORD" "$@" >>${recorded}\nfor each; do case $each in --file=*) : >"\${each#--file=}";; esac; done\n`
  for (const name of ['pg_dump', 'pg_restore', 'psql'])
    writeFileSync(join(folder, name), program, { mode: 0o755 })
  const script = (args[0] ?? '').replace('cd /backups', `cd ${folder}`)
  await run(shell, [...options, script], {
    env: {
      PATH: `${folder}:${process.env.PATH}`,
      DATABASE_URL: 'postgres://mahi:p%40%5Css%2Fw@db.example:5432/mahi?sslmode=require',
    },
  })
  const [password, ...parameters] = readFileSync(recorded, 'utf8').split('\n')
  expect(password).toBe('p@\\ss/w')
  expect(parameters.filter((each) => each.includes('p%40'))).toEqual([])
  expect(parameters).toContain('--dbname=postgres://mahi@db.example:5432/mahi?sslmode=require')
})

/** A database of its own, since the backup dumps all of one. */
async function createDatabase(): Promise<string> {
  const url = new URL(postgresUrl ?? '')
  const name = `mahi_backup_${randomBytes(6).toString('hex')}`
  const admin = new pg.Client({ connectionString: url.href })
  await admin.connect()
  await admin.query(`create database ${name}`)
  onTestFinished(async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  url.pathname = `/${name}`
  return url.href
}
