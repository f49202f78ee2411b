import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { alerts, ROOT, readRepositoryFile } from './support/deploy.ts'
import { testWhere } from './support/test-where.ts'

const testPromtool = testWhere(
  spawnSync('promtool', ['--version']).status === 0,
  'promtool is not installed (Debian has it in the package prometheus): the alert rules',
)

const dashboard = JSON.parse(readRepositoryFile('deploy/monitoring/dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[]
}

testPromtool('promtool accepts the alert rules, and every expression of the dashboard', () => {
  const check = (file: string) => {
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    expect([file, status, status === 0 ? '' : stderr + stdout]).toEqual([file, 0, ''])
  }
  check(join(ROOT, 'deploy/monitoring/alerts.yaml'))
  const folder = mkdtempSync(join(tmpdir(), 'mahi-rules-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const recorded = dashboard.panels.flatMap(({ targets }, panel) =>
    targets.map(({ expr }, target) => ({
      record: `dashboard:${panel}:${target}`,
      // What Grafana fills in.
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    })),
  )
  const file = join(folder, 'dashboard.json')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }))
  check(file)
})

test('alerts and dashboard name only metrics that the service has', () => {
  const own = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readRepositoryFile(join('src', file)).matchAll(/'(mahi_[a-z_]+)'/g)])
    .map(([, name]) => name)
  const named = [...alerts, ...dashboard.panels.flatMap(({ targets }) => targets)].flatMap(({ expr }) => [
    ...expr.matchAll(/mahi_[a-z_]+/g),
  ])
  expect(named.length).toBeGreaterThan(20)
  for (const [name] of named) expect(own).toContain(name.replace(/_(?:bucket|sum|count)$/, ''))
})
