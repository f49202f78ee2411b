import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import Type from 'typebox'
import { beforeAll, describe, expect, test } from 'vitest'
import { withScope } from '../src/api/contract/access-rules.ts'
import { operation } from '../src/api/contract/contract.ts'
import { describeDocument } from '../src/api/contract/describe.ts'
import { UNDECLARED } from '../src/api/contract/errors.ts'
import { Problem } from '../src/api/contract/problems.ts'
import { document } from '../src/api/contract/results.ts'
import { findClientFaults, findGuideFaults } from './support/described.ts'
import { serve } from './support/operations.ts'

/** A right declaration, as the source text that each trial breaks in one place. */
const RIGHT = `
const Thing = Type.Object({ code: Type.Optional(Type.String()) })
operation({
  name: 'count-things', id: 'countThings', summary: 'Count', description: 'Counts.', tag: 'Things',
  method: 'POST', path: '/things',
  access: withScope('occupations:read'),
  limit: 'occupations',
  request: { body: { json: Type.Object({ codes: Type.Array(Type.String()) }), maxBytes: 100 } },
  responses: { 200: describeDocument(Thing, 'A thing.', { code: 'a' }) },
  problems: { conflict: 'Another change is in progress.' },
  schemas: { Thing },
}).handle(({ body, refuse }) => {
  if (body.codes.length === 0) refuse('conflict', 'Wait.')
  return document({ code: body.codes.map((code) => code.trim()).join() })
})
`

/** What the compiler says of declarations that differ from the right one in one place. */
const COMPILED: readonly [string, string, string, RegExp][] = [
  ['no access', "access: withScope('occupations:read'),", '', /'access' is missing/],
  ['a wrong type', 'code.trim()', 'code.toFixed()', /'toFixed' does not exist on type 'string'/],
  ['an undeclared problem', "refuse('conflict'", "refuse('gone'", /'"gone"' is not assignable/],
  ['a response unlike its schema', 'document({ code: ', 'document({ code: 1 as number, x: ', /'code'/],
  [
    'an example that does not fit',
    "{ code: 'a' }",
    '{ code: 1 }',
    /'number' is not assignable to type 'string'/,
  ],
  ['a scope that does not exist', 'occupations:read', 'occupations:write', /"occupations:write"/],
]

describe('a wrong declaration does not compile', () => {
  const folder = new URL('../node_modules/.cache/wrong-declarations/', import.meta.url)
  let output = ''
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true })
    const imports = ['access-rules', 'contract', 'results']
      .map((file) => `import * as ${file.replace('-', '_')} from '../../../src/api/contract/${file}.ts'`)
      .join('\n')
    const header = `import Type from 'typebox'\n${imports}
import { describeDocument } from '../../../src/api/contract/describe.ts'
const { operation } = contract, { document } = results, { withScope } = access_rules\n`
    const sources = [['right', '', ''], ...COMPILED]
    for (const [index, [, right = '', wrong = '']] of sources.entries()) {
      expect(RIGHT).toContain(right)
      writeFileSync(new URL(`${index}.ts`, folder), header + RIGHT.replace(right, wrong))
    }
    const config = {
      extends: '../../../tsconfig.json',
      include: ['*.ts'],
      compilerOptions: { rootDir: '../../..' },
    }
    writeFileSync(new URL('tsconfig.json', folder), JSON.stringify(config))
    const compile = promisify(execFile)('tsc', ['--noEmit', '--pretty', 'false', '-p', folder.pathname])
    output = await compile.then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
    rmSync(folder, { recursive: true })
  }, 180_000)
  const saidOf = (index: number) =>
    output
      .split(/\n(?=\S)/)
      .filter((message) => message.includes(`/${index}.ts(`))
      .join('\n')

  test('but the right one does', () => {
    expect(saidOf(0)).toBe('')
  })

  test.each(COMPILED.map(([what, , , message], index) => [what, index + 1, message] as const))(
    '%s',
    (_, index, message) => {
      expect(saidOf(index)).toMatch(message)
    },
  )
})

const Thing = Type.Object({ code: Type.Optional(Type.String()) })
const COMMON = {
  name: 'count-things',
  id: 'countThings',
  summary: 'Count',
  description: 'Counts.',
  tag: 'Things',
  method: 'POST',
  path: '/things',
  access: withScope('occupations:read'),
  limit: 'occupations',
  schemas: { Thing },
  responses: { 200: describeDocument(Thing, 'A thing.', { code: 'a' }) },
  problems: {},
} as const
const handle = () => document({ code: 'a' })

describe('a wrong declaration stops the start, with its name', () => {
  const countThings = operation(COMMON).handle(handle)

  test.each([
    [
      'a keyword without a reader',
      { request: { query: Type.Object({ a: Type.Integer({ multipleOf: 2 }) }) } },
      'multipleOf',
    ],
    [
      'a keyword without a reader in a body',
      { request: { body: { json: Type.Object({ a: Type.Null() }), maxBytes: 1 } } },
      'no reader',
    ],
    ['a header without a reader', { request: { header: Type.Object({ A: Type.Null() }) } }, 'no reader'],
    ['an undeclared path parameter', { path: '/things/{code}' as const }, 'code'],
    ['a schema without a name', { schemas: {} }, 'the schema of its 200 has no name'],
  ])('%s', (_, wrong, message) => {
    const odd = operation({ ...COMMON, ...wrong }).handle(handle)
    expect(() => serve(odd)).toThrow(/^count-things: /)
    expect(() => serve(odd)).toThrow(message)
  })

  test.each([
    ['access', { access: undefined }, 'access is missing'],
    [
      'scope',
      { access: { scope: 'occupations:write', anonymous: false } },
      'occupations:write does not exist',
    ],
    ['problem', { problems: { 'gone-fishing': 'x' } }, 'gone-fishing does not exist'],
    [
      'recall past an access rule',
      { access: { scope: undefined, anonymous: false, authorize: () => undefined }, recall: () => undefined },
      'recall would skip',
    ],
  ])('a wrong %s that no compiler has seen', (_, wrong, message) => {
    expect(() => serve({ ...countThings, ...wrong } as never)).toThrow(`count-things: `)
    expect(() => serve({ ...countThings, ...wrong } as never)).toThrow(message)
  })

  test.each([
    ['path', { name: 'other', id: 'other' }, 'other: count-things has POST /v1/things too'],
    ['id', { name: 'other', path: '/other' as const }, 'other: count-things has the id countThings too'],
    [
      'name',
      { id: 'other', path: '/other' as const },
      'count-things: count-things has the name count-things too',
    ],
  ])('a repeated %s', (_, change, message) => {
    const other = operation({ ...COMMON, ...change }).handle(handle)
    expect(() => serve(countThings, other)).toThrow(message)
  })
})

test('an undeclared problem is logged as a fault of its operation', async () => {
  const throwing = operation(COMMON).handle(() => {
    throw new Problem('gone', 'It was here.')
  })
  const lines: object[] = []
  const app = serve(throwing)
  app.addHook('onRequest', async (request) => {
    request.log = { error: (line: object, message: string) => lines.push({ ...line, message }) } as never
  })
  const response = await app.inject({ method: 'POST', url: '/v1/things', headers: { 'x-api-key': 'right' } })
  expect(response.statusCode).toBe(410)
  expect(lines).toMatchObject([{ operation: 'count-things', problem: 'gone', message: UNDECLARED }])
})

test('an operation without a guide or a method of the client is reported by name', async () => {
  const published = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
  expect([findGuideFaults(published), await findClientFaults(published)]).toEqual([[], []])

  const paths = {
    ...published.paths,
    '/v1/things': { post: { operationId: 'countThings', summary: 'Count' } },
  }
  expect([...findGuideFaults({ paths }), ...(await findClientFaults({ paths }))]).toEqual([
    'countThings: the table of operations in docs/api.md lacks `POST /v1/things` | Count | any',
    'countThings: the client has no method for POST /v1/things; test/support/described.ts lists them',
  ])

  const moved = { '/v1/places': { get: published.paths['/v1/me'].get } }
  expect(await findClientFaults({ paths: moved })).toEqual([
    'getCaller: its method of the client sends GET /v1/me instead of GET /v1/places',
  ])
})
