import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { generateOpenApi } from './support/write-openapi.ts'

test('openapi.json is what the running app generates (npm run openapi renews it)', async () => {
  const committed = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')
  expect(await generateOpenApi()).toBe(committed)
})
