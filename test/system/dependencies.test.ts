import { exec, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readLock } from '../support/dependencies.ts'
import { temporaryFolder } from '../support/temporary.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('the bill of materials has every package in production, with its licence', () => {
  const { status, stdout } = spawnSync('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  const bill = JSON.parse(stdout) as {
    bomFormat: string
    components: { name: string; group?: string; version: string; licenses?: unknown[] }[]
  }
  expect(bill.bomFormat).toBe('CycloneDX')
  const own = ['mahi-service', 'mahi-client']
  const found = bill.components.filter(({ name }) => !own.includes(name))
  const names = found.map(
    ({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name}@${version}`,
  )
  const locked = readLock().filter(({ development }) => !development)
  expect([...new Set(names)].sort()).toEqual(
    [...new Set(locked.map(({ name, version }) => `${name}@${version}`))].sort(),
  )
  for (const { licenses } of found) expect(licenses).toHaveLength(1)
})

test('an audit fails on what the registry knows, and is skipped, with a line, where it does not answer', async () => {
  const folder = temporaryFolder()
  const version = readLock().find(({ name }) => name === 'fastify')?.version ?? ''
  let away = true
  // A registry of one package, with an advisory about it.
  const server = createServer((request, response) => {
    request.resume()
    const advisory = {
      id: 1,
      url: 'https://a.example',
      title: 'bad',
      severity: 'low',
      vulnerable_versions: '*',
    }
    const packument = { name: 'fastify', versions: { [version]: { name: 'fastify', version } } }
    const body = request.method === 'POST' ? { fastify: [advisory] } : packument
    response.writeHead(away ? 405 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(ROOT, file), join(folder, file))
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: folder,
    npm_config_fetch_retries: '0',
  }
  const audit = async () =>
    await new Promise<{ code: number; stderr: string }>((resolve) => {
      exec(`node ${join(ROOT, '.ci/audit.js')}`, { cwd: folder, env }, (error, _, stderr) =>
        resolve({ code: error?.code ?? 0, stderr }),
      )
    })

  expect(await audit()).toMatchObject({ code: 0, stderr: expect.stringMatching(/^SKIPPED: the audit/m) })
  away = false
  expect(await audit()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('FAILS: fastify: low, production'),
  })
})
