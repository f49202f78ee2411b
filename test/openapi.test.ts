import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderOperations } from '../client/render-operations.ts'
import { renderTypes } from '../client/render-types.ts'
import { findClientFaults, findGuideFaults } from './support/described.ts'
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

test('every operation has a guide, and a function of the client that sends it', async () => {
  const published = JSON.parse(read('openapi.json'))
  expect([findGuideFaults(published), await findClientFaults(published)]).toEqual([[], []])
})

interface Document {
  components: { schemas: Record<string, { properties?: object }> }
  paths: Record<
    string,
    Record<string, { responses?: Record<string, { content?: Record<string, { schema: { $ref: string } }> }> }>
  >
}
