import { expect, test } from 'vitest'
import { fuzz } from '../../tools/fuzz/fuzz.ts'
import { engine, temporaryDatabaseUrl } from '../support/temporary.ts'

// The same requests each time; `npm run fuzz` tries others, and many more.
// Most of them are refused before they reach the database.
const SHARE = engine === 'sqlite' ? 1 : 1 / 4

test.each([
  ['open', 3000 * SHARE],
  ['limited', 1000 * SHARE],
] as const)('%s: %i hostile requests have answers that openapi.json describes', async (mode, requests) => {
  const report = await fuzz({ databaseUrl: temporaryDatabaseUrl(), mode, seed: 20_260_131, requests })
  process.stdout.write(report.describe())
  expect(report.failures).toEqual([])
})
