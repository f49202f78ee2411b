import type { Check } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'

/** Selects the checks in force on the as-of date; with `only`, just these codes, including drafts. */
export function selectChecks({ asOf }: Parameters, only: readonly string[]): (check: Check) => boolean {
  const codes = new Set(only)
  return ({ code, status, since, until }) =>
    (since === undefined || since <= asOf) &&
    (until === undefined || until >= asOf) &&
    (codes.size === 0 ? status === 'active' : codes.has(code) && status !== 'retired')
}
