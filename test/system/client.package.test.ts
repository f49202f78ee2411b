import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { buildClient } from '../../client/build.ts'
import { Front } from '../../client/test/front.ts'
import { Service } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const CLIENT = fileURLToPath(new URL('../../client/', import.meta.url))
const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

const { outputFiles } = await build({
  entryPoints: [`${CLIENT}src/index.ts`],
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  charset: 'utf8',
  write: false,
})
/** The whole client in one minified file, as a browser would load it. */
const code = outputFiles[0]?.text ?? ''

/** What surrounds the examples of the README in the program of a reader. */
const AROUND_EXAMPLES = `export {}
declare global {
  const baseUrl: string, apiKey: string, folder: string, submissionToken: string, signal: AbortSignal
  const client: import('mahi-client').Client
  const login: { accessToken(): Promise<string> }
  const store: (record: import('mahi-client').OccupationRecord | undefined) => void
  const remove: (occupationCode: string | undefined) => void
}
`

/** A Node.js 20 on the path, the oldest that the client is for. */
async function findNode20(): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const node = join(folder, 'node')
    if (!existsSync(node)) continue
    const { stdout } = await run(node, ['--version']).catch(() => ({ stdout: '' }))
    if (stdout.startsWith('v20.')) return node
  }
  return undefined
}

const node20 = await findNode20()
if (node20 === undefined)
  process.stderr.write('SKIPPED: the client on Node.js 20: there is none on the path\n')
const NODES = [
  ...(node20 === undefined ? [] : [['Node.js 20', node20]]),
  ['this Node.js', process.execPath],
] as const

test('the client is below 8 KB, minified and gzipped', async () => {
  const size = gzipSync(code, { level: constants.Z_BEST_COMPRESSION }).length
  expect(code).toContain('createClient')
  expect(size).toBeLessThan(8192)
})

test('the client uses only APIs that every runtime has', async () => {
  expect(code).not.toMatch(/\bimport\b|\brequire\(|\bprocess\.|\bBuffer\b/)
  const description = JSON.parse(readFileSync(`${CLIENT}package.json`, 'utf8'))
  expect(description).not.toHaveProperty('dependencies')
  expect(description).not.toHaveProperty('peerDependencies')
})

test.for(NODES)('the bundle runs on %s', async ([, node]) => {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))
  const { submissionToken } = await service.publish([{ localId: 'a' }, { localId: 'b' }])
  const front = await Front.start(service)
  const faults = ['reset', { status: 503, headers: { 'retry-after': '1' } }] as const
  front.befall = ({ url }) =>
    url.endsWith('=9')
      ? { status: 503, headers: { 'retry-after': '900' } }
      : faults[front.received.length - 1]

  const folder = temporaryFolder()
  writeFileSync(join(folder, 'client.mjs'), code)
  writeFileSync(
    join(folder, 'program.mjs'),
    `import { createClient, MahiError } from './client.mjs'
const [baseUrl, apiKey, token] = process.argv.slice(2)
// A timer of a deadline that were left behind would keep the process for so long.
const client = createClient({ baseUrl, apiKey, eid: '1001', deadline: 1_000_000 })
const codes = []
for await (const { occupationCode } of client.occupations.all({ limit: 2 })) codes.push(occupationCode)
const entries = []
for await (const { localId } of client.validationResults.all(token, { pageSize: 1 })) entries.push(localId)
const again = await client.occupations.list({ limit: 2 })
const problem = await client.occupations.list({ limit: 0 }).catch((error) => error)
const controller = new AbortController()
// Nor may what waits for the end of a pause.
const pausing = createClient({ baseUrl, deadline: 1_000_000, fetch: async (...request) => {
  const response = await fetch(...request)
  setTimeout(() => controller.abort(new Error('enough')), 20)
  return response
} })
const aborted = await pausing.occupations.list({ limit: 9 }, { signal: controller.signal }).catch((error) => error)
console.log(JSON.stringify({ codes, entries, again: again.resultsCount, mahi: problem instanceof MahiError, ...problem, aborted: aborted.message }))
`,
  )
  const { stdout, stderr } = await run(node, [
    join(folder, 'program.mjs'),
    front.baseUrl,
    service.key,
    submissionToken,
  ])
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toMatchObject({
    codes: ['A', 'B', 'C'],
    entries: ['a', 'b'],
    again: 2,
    mahi: true,
    kind: 'problem',
    status: 400,
    aborted: 'enough',
  })
  expect(front.statuses).toEqual([undefined, 503, 200, 200, 200, 200, 304, 400, 503])
})

test('the built package is what its description says, its types suit a program with and without the DOM, and the examples of its README compile', async () => {
  const folder = temporaryFolder()
  const installed = join(folder, 'node_modules', 'mahi-client')
  mkdirSync(installed, { recursive: true })
  buildClient(join(installed, 'dist'))
  expect(readFileSync(join(installed, 'dist', 'index.d.ts'), 'utf8')).not.toContain(".ts'")
  writeFileSync(join(installed, 'package.json'), readFileSync(`${CLIENT}package.json`))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'program.ts'),
    `import { createClient, MahiError, type OccupationRecord } from 'mahi-client'
const client = createClient({ baseUrl: 'https://example.org', token: () => 'a', fetch, eid: '1001' })
export async function read(signal: AbortSignal): Promise<string | undefined> {
  let last: OccupationRecord = {}
  for await (const record of client.occupations.all({ limit: 1 }, { signal })) last = record
  try {
    const page = await client.validationResults.page('t', { page: 1, pageSize: 2 })
    if (page.results?.[0]?.errorType === 'Warning') return last.renumeration?.payLowerBound?.toFixed()
  } catch (error) {
    if (error instanceof MahiError && error.kind === 'problem') return error.errors?.page?.[0]
  }
  return last.titleMaori
}
// @ts-expect-error a misspelt filter
client.occupations.list({ majorGroup: 'J1' })
// @ts-expect-error two credentials
createClient({ baseUrl: 'https://example.org', apiKey: 'a', token: 'b' })
`,
  )
  const examples = [...readFileSync(`${CLIENT}README.md`, 'utf8').matchAll(/^```[jt]s\n(.*?)^```/gms)]
  expect(examples.length).toBeGreaterThan(5)
  for (const name of ['get', 'search', 'suggest', 'groups', 'code'])
    expect(examples.some(([text]) => text.includes(`occupations.${name}(`))).toBe(true)
  const exampleFiles = examples.map((_, index) => `example-${index + 1}.ts`)
  for (const [index, file] of exampleFiles.entries())
    writeFileSync(join(folder, file), `${examples[index]?.[1]}export {}\n`)
  writeFileSync(join(folder, 'around.d.ts'), AROUND_EXAMPLES)
  symlinkSync(
    fileURLToPath(new URL('../../node_modules/@types', import.meta.url)),
    join(folder, 'node_modules', '@types'),
  )
  symlinkSync(
    fileURLToPath(new URL('../../node_modules/undici-types', import.meta.url)),
    join(folder, 'node_modules', 'undici-types'),
  )
  const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--exactOptionalPropertyTypes']
  const environments = [
    // The first example is for every runtime, and needs no types but those of the web.
    ['--lib', 'es2022,dom', '--types', '', 'program.ts', 'example-1.ts'],
    ['--lib', 'es2022', '--types', 'node', 'program.ts', 'around.d.ts', ...exampleFiles],
  ]
  const compile = (environment: readonly string[]) =>
    run(process.execPath, [TSC, ...strict, ...environment], { cwd: folder }).catch((error) =>
      expect.unreachable(error.stdout),
    )
  await Promise.all(environments.map(compile))
  const { stdout } = await run(
    process.execPath,
    ['--input-type=module', '-e', "console.log(Object.keys(await import('mahi-client')).join())"],
    { cwd: folder },
  )
  expect(stdout.trim()).toBe('MahiError,createClient')
})
