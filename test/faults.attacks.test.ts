import { expect, inject, test } from 'vitest'
import { ATTACKS, runAttacks } from '../tools/attacks/run-attacks.ts'
import { MAHI } from './support/command.ts'
import { engine } from './support/temporary.ts'
import { testWhere } from './support/test-where.ts'

// `npm run attack` takes longer over each, and compares response times.
testWhere(process.platform === 'linux', 'attacks: the memory of a process is read from /proc')(
  'no attack takes more memory than deploy/ gives, or changes what another caller gets',
  { timeout: 600_000 },
  async () => {
    const results = await runAttacks({
      engine,
      postgres: engine === 'postgres' ? inject('postgresUrl') : undefined,
      attacks: ATTACKS,
      length: 1_000,
      together: 3_000,
      restarts: 1,
      program: MAHI,
      sources: true,
    })
    expect(results.filter(({ faults }) => faults.length > 0)).toEqual([])
    expect(results).toHaveLength(ATTACKS.length + 3)
  },
)

test('each attack has another name', () => {
  expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length)
})
