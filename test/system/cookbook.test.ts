import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { parseLines } from '../support/lines.ts'
import { Service } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const CLIENT = fileURLToPath(new URL('../../client/src/index.ts', import.meta.url))
const cookbook = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8')

const blocksOf = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1] ?? '')
const preludeOf = (language: string) =>
  blocksOf(cookbook, language).find((block) => /^(?:\/\/|#) prelude/.test(block)) ?? ''
const recipes = cookbook.split(/^## (?=\d)/m).slice(1)

/** The programs besides Node that the recipes need, by a call that succeeds where they are. */
const PROGRAMS: [string, string[]][] = [
  ['bash', ['--version']],
  ['curl', ['--version']],
  ['jq', ['--version']],
  ['python3', ['--version']],
]
const missing = PROGRAMS.filter(([program, flags]) => {
  try {
    execFileSync(program, flags, { stdio: 'ignore' })
    return false
  } catch {
    return true
  }
}).map(([program]) => program)
if (missing.length > 0) {
  if (process.env.CI === 'true') throw new Error(`with CI=true the cookbook needs ${missing.join(', ')}`)
  process.stderr.write(`SKIPPED: the cookbook: this machine lacks ${missing.join(', ')}\n`)
}

async function serveSamples() {
  const service = await Service.start()
  const read = (name: string) =>
    parseLines(readFileSync(new URL(`../../samples/${name}.ndjson`, import.meta.url), 'utf8'))
  await service.import(read('occupations'))
  await service.index()
  await service.publish(read('validation-results'), { eid: '9999', token: 'sample-submission' })
  const { key } = await createKey(service.database, {
    client: 'cook',
    eids: ['9999'],
    expires: Date.now() + 86_400_000,
  })
  await service.revisions.refresh()
  return {
    PATH: process.env.PATH ?? '',
    MAHI_URL: await service.app.listen({ host: '127.0.0.1', port: 0 }),
    MAHI_API_KEY: key,
    MAHI_EID: '9999',
    MAHI_TOKEN: 'sample-submission',
  }
}

test.skipIf(missing.length > 0).each(recipes.map((recipe) => [recipe.split('\n', 1)[0] ?? '', recipe]))(
  '%s',
  async (_title, recipe) => {
    const env = await serveSamples()
    const cwd = temporaryFolder()
    const [sh = ''] = blocksOf(recipe, 'sh')
    const curl = await run('bash', ['-eu', '-o', 'pipefail', '-c', sh], { cwd, env })

    const [python = ''] = blocksOf(recipe, 'python')
    const fromPython = await run('python3', ['-c', `${preludeOf('python')}\n${python}`], { cwd, env })

    const [ts = ''] = blocksOf(recipe, 'ts')
    writeFileSync(join(cwd, 'recipe.ts'), `${preludeOf('ts')}\n${ts}`)
    await build({
      entryPoints: [join(cwd, 'recipe.ts')],
      outfile: join(cwd, 'recipe.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      alias: { 'mahi-client': CLIENT },
    })
    const fromClient = await run(process.execPath, [join(cwd, 'recipe.mjs')], { cwd, env })

    expect(curl.stdout.trim()).not.toBe('')
    expect(curl.stdout).not.toContain('null')
    expect(fromPython.stdout).toBe(curl.stdout)
    expect(fromClient.stdout).toBe(curl.stdout)
  },
)
