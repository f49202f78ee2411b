import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderOperations, WRITTEN_BY_HAND } from '../client/render-operations.ts'
import { renderTypes } from '../client/render-types.ts'
import { type Client, createClient } from '../client/src/index.ts'
import { Service } from './support/service.ts'
import { generateOpenApi } from './support/write-openapi.ts'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

test('openapi.json is what the running app generates (npm run openapi renews it)', async () => {
  const committed = read('openapi.json')
  expect(await generateOpenApi()).toBe(committed)
})

test.for([
  ['types.ts', renderTypes],
  ['operations.ts', renderOperations],
] as const)('client/src/%s is what openapi.json describes (npm run openapi renews it)', ([name, render]) => {
  expect(render(JSON.parse(read('openapi.json')))).toBe(read(`client/src/${name}`))
})

test('with the console, the document has the same operations and no page', async () => {
  const service = await Service.start({ CONSOLE: 'on' })
  const served = (await service.app.inject('/openapi.json')).json<{ paths: Record<string, object> }>()
  expect((await service.app.inject('/console/sign-in')).statusCode).toBe(200)
  expect(Object.keys(served.paths)).toEqual(Object.keys(JSON.parse(read('openapi.json')).paths))
})

test('only problems of a submission or of a page past the end have an errorCode, in the specified operations as specified', () => {
  const { components, paths } = JSON.parse(read('openapi.json')) as Document
  const responsesOf = (path: string, method: string) =>
    Object.entries(paths[path]?.[method]?.responses ?? {}).flatMap(([status, { content }]) => {
      const name = content?.['application/problem+json']?.schema.$ref.split('/').at(-1) ?? ''
      const fields = Object.keys(components.schemas[name]?.properties ?? {})
      return fields.length > 0 ? [{ status, fields }] : []
    })
  const coded = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => responsesOf(path, method).some(({ fields }) => fields.includes('errorCode')))
      .map(() => path),
  )
  expect(coded).toContain('/v1/submissions/{submissionToken}/records/{fileType}')
  expect(coded.filter((path) => !path.includes('{submissionToken}')).sort()).toEqual([
    '/v1/organisations',
    '/v1/returns',
    '/v1/returns/{returnId}/overview',
    '/v1/submissions',
  ])

  const problem = ['type', 'title', 'status', 'detail', 'instance']
  const own = ['errors', 'returnId', 'submissionToken', 'content', 'errorCode']
  for (const { fields } of responsesOf('/v1/occupations', 'get')) expect(fields).toEqual(problem)
  for (const { status, fields } of responsesOf('/v1/submissions/{submissionToken}/validation-results', 'get'))
    expect(fields).toEqual(status === '400' ? [...problem, ...own] : problem)
})

/** A path of the document as an expression; a guide may write its parameters in its own way. */
const matching = (path: string) =>
  path
    .split(/\{\w+\}/)
    .map((part) => RegExp.escape(part))
    .join('(?:\\{[^}]+\\}|[\\w%.-]+)')

test('docs/api.md lists every operation with its summary, its scope and a guide, and no other', () => {
  const [before = '', after = ''] = read('docs/api.md').split(/^## Operations$/m, 2)
  const [table = '', ...rest] = after.split(/^(?=## )/m)
  const rows = [...table.matchAll(/^\| (`\w+ (\/[^`]+)` \| .* \| .*) \| \[.*\]\(([^)#]*)(?:#.*)?\) \|$/gm)]
  const expected = listOperations().map(({ method, path, summary, security = [] }) => {
    const [scope] = security.flatMap(({ apiKey = [] }) => apiKey)
    return `\`${method} ${path}\` | ${summary} | ${scope === undefined ? 'any' : `\`${scope}\``}`
  })
  expect(rows.map(([, row]) => row).sort()).toEqual(expected.sort())
  for (const [, , path = '', guide] of rows) {
    const text = guide === '' ? before + rest.join('') : read(`docs/${guide}`)
    expect(text).toMatch(new RegExp(`${matching(path)}(?![\\w/{])`))
  }
})

/** A call of the client for each operation that its own code sends. */
const CALLS: Readonly<Record<(typeof WRITTEN_BY_HAND)[number], (client: Client) => Promise<unknown>>> = {
  listOccupations: ({ occupations }) => occupations.list(),
  listOccupationChanges: ({ occupations }) => occupations.changes(),
  getOccupationSnapshot: ({ occupations }) => occupations.snapshot(),
  getValidationResults: ({ validationResults }) => validationResults.page('a'),
  createSubmission: ({ submissions }) => submissions.create({ returnId: 'a' }),
  putSubmissionFiles: ({ submissions }) => submissions.putFiles('a', ''),
  putSubmissionFile: ({ submissions }) => submissions.putFile('a', 'a', ''),
  getSubmissionFile: ({ submissions }) => submissions.getFile('a', 'a'),
  getMarkedFiles: ({ submissions }) => submissions.markedFiles('a'),
  getCorrectedFiles: ({ submissions }) => submissions.correctedFiles('a'),
  getRepairs: ({ submissions }) => submissions.repairs('a'),
  repairFiles: ({ submissions }) => submissions.repair('a'),
  requestValidationRun: ({ submissions }) => submissions.validate('a'),
}

test('the functions of the client that are written by hand send the requests of the document', async () => {
  const sent: string[] = []
  const client = createClient({
    baseUrl: 'http://service.test',
    eid: '1001',
    fetch: async (url, { method = 'GET' }) => {
      sent.push(`${method} ${new URL(url).pathname}`)
      return new Response('{}', { status: 404 })
    },
  })
  for (const id of WRITTEN_BY_HAND) {
    const described = listOperations().find(({ operationId }) => operationId === id)
    await CALLS[id](client).catch(() => undefined)
    expect(sent.pop(), id).toMatch(new RegExp(`^${described?.method} ${matching(described?.path ?? '')}$`))
  }
})

function listOperations() {
  const { paths } = JSON.parse(read('openapi.json')) as Document
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, each]) =>
      each.operationId === undefined ? [] : [{ ...each, path, method: method.toUpperCase() }],
    ),
  )
}

interface Document {
  components: { schemas: Record<string, { properties?: object }> }
  paths: Record<string, Record<string, Described>>
}
interface Described {
  operationId?: string
  summary?: string
  security?: Record<string, string[]>[]
  responses?: Record<string, { content?: Record<string, { schema: { $ref: string } }> }>
}
