import { expect, test } from 'vitest'
import { readTypes } from '../client/test/read-types.ts'

test('the error has the members of every problem', () => {
  const problems = Object.entries(readTypes('types.ts')).filter(([name]) => name.endsWith('Problem'))
  expect(problems.length).toBeGreaterThan(3)
  const error = readTypes('errors.ts').MahiError?.fields ?? {}
  for (const [, { fields }] of problems)
    for (const [name, { type }] of Object.entries(fields)) expect(error[name]?.type, name).toBe(type)
})
