import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect } from 'vitest'
import { Service } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const INSTALLED = new URL('../../tools/generators/node_modules', import.meta.url).pathname
const run = promisify(execFile)

/** What a program with the generated client prints: a title, the count of findings, and the state of a title. */
const EXPECTED = { title: 'Kaiako', pay: 50_000, totalCount: 1, state: 'confirmed' }

const HEADERS = `const { URL: baseUrl = '', KEY: key = '' } = process.env
const headers = { 'X-API-Key': key }
const decisions = { items: [{ title: 'Kindy teacher', occupationCode: 'A1' }] }
`

/** Findings also come as lines of text, so some generators give an object or a text. */
const PRINT = `const [title, pay] = [record?.titleMaori, record?.renumeration?.payLowerBound]
const findings = typeof results.data === 'object' ? results.data : undefined
const [totalCount, state] = [findings?.totalCount, confirmed.data?.items?.[0]?.state]
console.log(JSON.stringify({ title, pay, totalCount, state }))
`

/** How each generator is called, and a program that uses the fields of what it generates. */
const GENERATORS = [
  {
    name: 'openapi-typescript',
    call: ['openapi-typescript', 'openapi.json', '-o', 'out/types.ts'],
    program: `import createClient from 'openapi-fetch'
import type { paths } from './out/types.ts'
${HEADERS}
const client = createClient<paths>({ baseUrl, headers })
const { data: page } = await client.GET('/v1/occupations', { params: { query: { Limit: 1 } } })
const record = page?.data?.[0]
const results = await client.GET('/v1/submissions/{submissionToken}/validation-results', {
  params: { path: { submissionToken: 'sample-token' }, header: { EID: '1001' } },
})
const confirmed = await client.POST('/v1/confirmed-codings', { body: decisions })`,
  },
  {
    name: 'swagger-typescript-api',
    call: ['swagger-typescript-api', 'generate', '-p', 'openapi.json', '-o', 'out', '-n', 'api.ts'],
    program: `import { Api } from './out/api'
${HEADERS}
const { v1 } = new Api({ baseUrl, baseApiParams: { headers, format: 'json' } })
const record = (await v1.listOccupations({ Limit: 1 })).data.data?.[0]
const results = await v1.getValidationResults('sample-token', {}, { headers: { ...headers, EID: '1001' } })
const confirmed = await v1.confirmCodings(decisions)`,
  },
  {
    name: '@hey-api/openapi-ts',
    call: ['openapi-ts', '-i', 'openapi.json', '-o', 'out'],
    program: `import { createClient } from './out/client'
import { confirmCodings, getValidationResults, listOccupations } from './out/sdk.gen'
${HEADERS}
const client = createClient({ baseUrl, headers })
const record = (await listOccupations({ client, query: { Limit: 1 } })).data?.data?.[0]
const results = await getValidationResults({
  client,
  path: { submissionToken: 'sample-token' },
  headers: { EID: '1001' },
})
const confirmed = await confirmCodings({ client, body: decisions })`,
  },
  {
    name: 'orval',
    call: ['orval', '--input', 'openapi.json', '--output', 'out/api.ts', '--client', 'fetch'],
    program: `import { confirmCodings, getValidationResults, listOccupations } from './out/api'
${HEADERS}
// Its functions call paths of the same origin.
const send = globalThis.fetch
globalThis.fetch = (path, options) => send(new URL(String(path), baseUrl), options)
const page = await listOccupations({ Limit: 1 }, { headers })
const results = await getValidationResults('sample-token', {}, { headers: { ...headers, EID: '1001' } })
const confirmed = await confirmCodings(decisions, { headers })
if (page.status !== 200 || results.status !== 200 || confirmed.status !== 200) throw new Error('refused')
const record = page.data.data?.[0]`,
  },
]

testWhere(existsSync(INSTALLED), 'generated clients: run npm install --prefix tools/generators').each(
  GENERATORS,
)('$name generates a client that compiles with strict and reads responses', async ({ call, program }) => {
  const service = await Service.start({ CONSOLE: 'on' })
  await service.import([
    {
      occupationCode: 'A1',
      titleMaori: 'Kaiako',
      renumeration: { payLowerBound: 50_000, payUpperBound: 60_000 },
    },
  ])
  await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error' }], { token: 'sample-token' })
  const { key } = await service.createKey({
    scopes: ['occupations:read', 'validation-results:read', 'codings:confirm'],
    eids: ['1001'],
  })
  const baseUrl = await service.app.listen({ host: '127.0.0.1', port: 0 })

  const folder = temporaryFolder()
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  mkdirSync(join(folder, 'out'))
  symlinkSync(INSTALLED, join(folder, 'node_modules'))
  write('package.json', '{"type":"module"}')
  write('openapi.json', await (await fetch(`${baseUrl}/openapi.json`)).text())
  const [tool = '', ...options] = call
  await run(join(INSTALLED, '.bin', tool), options, { cwd: folder })

  write('program.ts', `${program}\n${PRINT}`)
  write('node.d.ts', 'declare const process: { env: Record<string, string | undefined> }\n')
  write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        target: 'es2022',
        module: 'esnext',
        moduleResolution: 'bundler',
        allowImportingTsExtensions: true,
        lib: ['es2023', 'dom', 'dom.iterable'],
        types: [],
      },
      include: ['*.ts', 'out'],
    }),
  )
  const compiled = await run(join(INSTALLED, '.bin/tsc'), ['-p', '.'], { cwd: folder }).catch(
    (error) => error,
  )
  expect(compiled.stdout).toBe('')

  await build({
    entryPoints: [join(folder, 'program.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: join(folder, 'program.mjs'),
  })
  const { stdout } = await run(process.execPath, ['program.mjs'], {
    cwd: folder,
    env: { ...process.env, URL: baseUrl, KEY: key },
  })
  expect(JSON.parse(stdout)).toEqual(EXPECTED)
})
