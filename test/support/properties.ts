import fc from 'fast-check'
import { engine } from './temporary.ts'

/** The seed of every property: fixed, so that a run depends on the code only. `npm run test:long` draws another. */
export const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_131)

/** The factor of all numbers of cases. */
export const SCALE = Number(process.env.PROPERTY_SCALE ?? 1)

/** The parameters of a property: its number of cases, on PostgreSQL fewer if it imports often. */
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
