import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderTypes } from '../client/render-types.ts'
import { Service } from './support/service.ts'
import { generateOpenApi } from './support/write-openapi.ts'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

test('openapi.json is what the running app generates (npm run openapi renews it)', async () => {
  const committed = read('openapi.json')
  expect(await generateOpenApi()).toBe(committed)
})

test('client/src/types.ts is what openapi.json describes (npm run openapi renews it)', () => {
  expect(renderTypes(JSON.parse(read('openapi.json')))).toBe(read('client/src/types.ts'))
})

test('with the console, the document has the same operations and no page', async () => {
  const service = await Service.start({ CONSOLE: 'on' })
  const served = (await service.app.inject('/openapi.json')).json<{ paths: Record<string, object> }>()
  expect((await service.app.inject('/console/sign-in')).statusCode).toBe(200)
  expect(Object.keys(served.paths)).toEqual(Object.keys(JSON.parse(read('openapi.json')).paths))
})
