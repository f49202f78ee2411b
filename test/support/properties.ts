import fc from 'fast-check'
import { engine } from './temporary.ts'

/** The seed of the short suite, whose outcome therefore depends on the code only. */
const SHORT_SEED = 20_260_131

/** How many times more cases the long suites try on SQLite, where a case takes the least time. */
const LONG_SCALE = 2

/** What every property of a run shares: its seed, and the factor of its numbers of cases. */
export interface PropertySettings {
  readonly PROPERTY_SEED: string
  readonly PROPERTY_SCALE: string
}

/** Chooses the settings of a run on SQLite. Called once, in the process that starts the tests. */
export function chooseProperties(
  { PROPERTY_SEED, PROPERTY_SCALE }: Readonly<Record<string, string | undefined>>,
  isShort: boolean,
): PropertySettings {
  return {
    PROPERTY_SEED: PROPERTY_SEED ?? String(isShort ? SHORT_SEED : Math.floor(Math.random() * 2 ** 31)),
    PROPERTY_SCALE: PROPERTY_SCALE ?? String(isShort ? 1 : LONG_SCALE),
  }
}

/** The seed of every property. */
export const SEED = Number(process.env.PROPERTY_SEED ?? SHORT_SEED)

/** The factor of all numbers of cases. */
export const SCALE = Number(process.env.PROPERTY_SCALE ?? 1)

/** The parameters of a property: its numbers of cases in the short suite, on PostgreSQL fewer if it imports often. */
export function cases(
  count: number,
  onPostgres = count,
): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: Math.ceil((engine === 'sqlite' ? count : onPostgres) * SCALE), seed: SEED }
}

/** So many values, the same for the same seed. */
export function sample<Value>(arbitrary: fc.Arbitrary<Value>, count: number): Value[] {
  return fc.sample(arbitrary, { numRuns: count, seed: SEED })
}
