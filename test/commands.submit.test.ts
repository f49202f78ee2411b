import { expect, test } from 'vitest'
import { openClient } from '../src/remote/service.ts'
import { Installation } from './support/command.ts'

const URL = 'http://127.0.0.1:1'

test('submitting without a key says which variable is missing', () => {
  expect(() => openClient(URL, '1001', undefined)).toThrow(
    'MAHI_API_KEY is not set. Set it to a key with the scope submissions:write',
  )
})

test('the examples of a definition are counted in a sentence', async () => {
  const { stderr } = await new Installation().run(['definitions', 'test', 'sdr'])
  expect(stderr).toMatch(/^sdr: \d+ rules pass their \d+ examples\.$/m)
})
