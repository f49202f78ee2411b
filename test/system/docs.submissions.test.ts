import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { Installation, MAHI } from '../support/command.ts'
import { requireProgram } from '../support/require-program.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLIENT = join(ROOT, 'client/src/index.ts')
const guide = readFileSync(new URL('../../docs/submissions.md', import.meta.url), 'utf8')

const blocksOf = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block)
const [createKey = '', withCurl = ''] = blocksOf('sh')
const [withClient = ''] = blocksOf('ts')
const [, withCommand = ''] = /`([^`]* mahi submit [^`]*)`/.exec(guide) ?? []

const hasPrograms = requireProgram(
  ['bash', 'curl', 'jq'].every((name) => spawnSync(name, ['--version']).status === 0),
  'the guide to submissions',
  'no bash, curl or jq',
)

/** A service with a worker, and a shell in which the commands of the guide work. */
async function start() {
  const mahi = new Installation({ inProcesses: true })
  const { url } = await mahi.serve({ WORKERS: '1' })
  const command = join(mahi.folder, 'mahi')
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${MAHI}" "$@"\n`, { mode: 0o755 })
  const env = {
    PATH: `${mahi.folder}:${dirname(process.execPath)}:${process.env.PATH}`,
    DATABASE_URL: mahi.databaseUrl,
  }
  const shell = async (script: string) => {
    // Only the port differs from the guide, and that a slow check is awaited for longer than 30 seconds.
    const here = script
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll(/^ask -H 'Prefer: wait=30' .*$/gm, 'until $& | grep dateCompleted; do :; done')
    return (await run('bash', ['-eu', '-o', 'pipefail', '-c', here], { cwd: ROOT, env })).stdout
  }
  return { mahi, url, shell }
}

test.runIf(hasPrograms)(
  'the guide leads from nothing to zero errors with curl, with the client and with one command',
  async () => {
    const { mahi, url, shell } = await start()
    const curl = await shell(`${createKey}\n${withCurl}\necho "$KEY" > ${mahi.folder}/key`)
    // The uploads, the run, the codes, a page, then the same of the corrected files.
    expect(curl.match(/"errorCount":\d+/g)?.[0]).not.toBe('"errorCount":0')
    expect(curl).toMatch(/^\d+ \S+ \S+ .+$/m)
    expect(curl).toMatch(/\{"newCount":0,"fixedCount":[1-9]\d*,"openCount":\d+\}/)
    const submitted = JSON.parse(curl.slice(curl.lastIndexOf('{"submissionToken"')))
    expect(submitted).toMatchObject({ submissionStatus: 'Submitted', validationRun: { errorCount: 0 } })

    const program = join(mahi.folder, 'guide.mjs')
    await build({
      stdin: {
        contents: withClient.replaceAll('http://127.0.0.1:8080', url),
        loader: 'ts',
        resolveDir: ROOT,
      },
      outfile: program,
      bundle: true,
      format: 'esm',
      platform: 'node',
      alias: { 'mahi-client': CLIENT },
    })
    const client = await shell(`export KEY=$(cat ${mahi.folder}/key); node ${program}`)
    const [first, ...rest] = client.trimEnd().split('\n')
    expect(first).toMatch(/^[1-9]\d* errors$/)
    expect(rest).toContain('0 errors')
    expect(rest.at(-1)).toBe('Submitted')

    const submit = await shell(`KEY=$(cat ${mahi.folder}/key); ${withCommand} 2>&1`)
    expect(submit).toMatch(/^Submission \S+, run 1: 0 errors and \d+ warnings\.$/m)
    // The ways before have submitted the return.
    expect(submit).toMatch(/ still counts\. Submit it with: mahi submissions submit .+\n$/)
  },
)
