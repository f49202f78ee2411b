import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { step } from '../support/organisation-steps.ts'
import { Organisations } from '../support/organisations.ts'
import { cases, SEED } from '../support/properties.ts'
import { engine } from '../support/temporary.ts'

const sequences = fc.noBias(fc.array(step, { minLength: 50, maxLength: 250, size: 'max' }))

afterEach(() => {
  vi.useRealTimers()
})

/** Pages kept or not, a catalogue for everybody or not, limits that count or none. */
const INSTALLATIONS = [
  { PAGE_CACHE_MB: '64' },
  { PAGE_CACHE_MB: '0', OCCUPATIONS_ACCESS: 'public' },
  {
    PAGE_CACHE_MB: '1',
    RATE_LIMIT_OCCUPATIONS: '100000000/60',
    RATE_LIMIT_RESULTS: '100000000/60',
    RATE_LIMIT_ORGANISATION: '100000000/60',
    RATE_LIMIT_FAILED_CREDENTIALS: '100000000/60',
  },
]

test.each(INSTALLATIONS.map((settings, index) => ({ settings, seed: SEED + index })))(
  'whatever the sequence of calls, no caller sees data of others: two replicas, $settings, seed $seed',
  async ({ settings, seed }) => {
    // Frozen, and moved by the sequences: what expires is then known to the millisecond.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const installation = await Organisations.start(settings)
    await fc.assert(
      fc.asyncProperty(sequences, async (steps) => {
        await installation.begin()
        for (const each of steps) await installation.take(each)
      }),
      { ...cases(1), seed, endOnFailure: true },
    )
    process.stdout.write(`${engine}, ${JSON.stringify(settings)}, seed ${seed}: ${installation.describe()}\n`)
    for (const outcome of ['page', 'not-modified', 'refused', 'problem']) {
      expect(installation.counts.get(outcome)).toBeGreaterThan(0)
    }
  },
)
