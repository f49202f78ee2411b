import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'
import { ROOT, readRepositoryFile } from './support/deploy.ts'

const readme = readRepositoryFile('deploy/README.md')
const commands = [...readme.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].flatMap(([, block = '']) =>
  block.split('\n').map((line) => line.trim()),
)

/** What each kind of command hands to Mahi. */
const MAHI = /^(?:docker run .* mahi|.* run --rm (?:-T )?cli|.* \/app\/bin\/mahi\.js)(?: ([a-z][^<]*))/

test('every file that the guide names exists', () => {
  const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) =>
    join('deploy', path.replace(/#.*/, '')),
  )
  const files = commands.flatMap((line) => line.match(/\bdeploy\/[\w./-]+/g) ?? [])
  for (const path of [...links, ...files].filter(
    (each) => each !== 'deploy/.env' && each !== 'deploy/mahi.env',
  )) {
    // kubectl takes "deploy/NAME" for a deployment of that name.
    if (path === 'deploy/mahi') continue
    expect(existsSync(`${ROOT}${path}`), path).toBe(true)
  }
})

test('every command of Mahi that the guide shows exists', async () => {
  const shown = commands.flatMap((line) => MAHI.exec(line)?.[1]?.trim() ?? [])
  expect(shown.length).toBeGreaterThan(4)
  for (const words of new Set(shown)) {
    const { stdout } = await new Installation().run([...words.split(' '), '--help'])
    const name = words.split(' ').filter((word) => /^[a-z][a-z-]*$/.test(word))
    expect(stdout).toMatch(`Usage: mahi ${name.join(' ')} `)
  }
})
