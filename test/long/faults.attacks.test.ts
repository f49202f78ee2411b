import { expect, inject, test } from 'vitest'
import { ATTACKS, runAttacks } from '../../tools/attacks/run-attacks.ts'
import { MAHI } from '../support/command.ts'
import { engine } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const testOnLinux = testWhere(
  process.platform === 'linux',
  'attacks: the memory of a process is read from /proc',
)

/** What a caller without a credential reaches is the same on both engines. */
const TRIED = ATTACKS.filter(({ caller }) => engine === 'sqlite' || caller === 'key')

const options = () => ({
  engine,
  postgres: engine === 'postgres' ? inject('postgresUrl') : undefined,
  program: MAHI,
  sources: true,
  slack: 10,
})

// `npm run attack` takes longer over each, and compares response times.
testOnLinux(
  'no attack takes more memory than deploy/ gives, or changes what another caller gets',
  { timeout: 600_000 },
  async () => {
    const results = await runAttacks({
      ...options(),
      attacks: TRIED,
      length: 1_000,
      together: 3_000,
      restarts: 1,
    })
    expect(results.filter(({ faults }) => faults.length > 0)).toEqual([])
    // All of each caller at once and a restart; on PostgreSQL, a restart beside a dead standby as well.
    expect(results).toHaveLength(TRIED.length + 3)
  },
)

testOnLinux(
  'an attack fails if others notice more of it than promised, or if it ends itself',
  { timeout: 120_000 },
  async () => {
    const [first] = ATTACKS
    if (first === undefined) throw new Error('there is no attack')
    const results = await runAttacks({
      ...options(),
      attacks: [
        { ...first, promise: 'nobody waits', limits: { ...first.limits, health: 0 } },
        { ...first, name: 'unknown', promise: 'every attack is known' },
      ],
      length: 1_000,
      together: 0,
      restarts: 0,
    })
    expect(results.map(({ faults }) => faults)).toEqual([
      [
        expect.stringMatching(
          /^promised: nobody waits; \/livez or \/readyz took \d+ ms, at most 0 ms allowed$/,
        ),
      ],
      [expect.stringMatching(/^promised: every attack is known; .*no attack has the name unknown/s)],
    ])
  },
)

test('each attack has another name', () => {
  expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length)
})
