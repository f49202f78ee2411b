import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { describeDependencies, readDocument, readLock } from './support/dependencies.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Under which the project may be passed on, whatever its user does with it. */
const LICENCES = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0']

test('docs/dependencies.md lists what is locked, with reasons (npm run dependencies renews it)', () => {
  expect(readDocument()).not.toMatch(/TO DO|\| \|/)
  expect(readDocument()).toBe(describeDependencies(readLock(), readDocument()))
})

test('every package in production has a licence that requires only a notice', () => {
  const production = readLock().filter(({ development }) => !development)
  expect(production.length).toBeGreaterThan(50)
  expect(production.filter(({ license }) => !LICENCES.includes(license))).toEqual([])
})

test('no package has an install script but those that are listed, and none in production', () => {
  const [, section = ''] = readDocument().split('## Install scripts', 2)
  const listed = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
  const locked = readLock()
  expect(locked.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name)).toEqual(listed)
  expect(locked.filter(({ hasInstallScript, development }) => hasInstallScript && !development)).toEqual([])

  // The lock repeats what the registry says; this is what came.
  const installed = globSync('node_modules/{*,@*/*}/package.json', { cwd: ROOT }).map((path) => {
    const { name, scripts = {} } = JSON.parse(read(path)) as {
      name: string
      scripts?: Record<string, string>
    }
    const gyp = existsSync(join(ROOT, path, '../binding.gyp'))
    return { name, runs: gyp || ['preinstall', 'install', 'postinstall'].some((script) => script in scripts) }
  })
  expect(installed.length).toBeGreaterThan(100)
  const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> }
  for (const { name } of installed.filter(({ runs }) => runs)) {
    expect(Object.keys(allowScripts), name).toContain(name)
    expect(section, name).toContain(`\`${name}\``)
  }
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name])
  expect(allowed).toEqual(['node'])
})
