import type { Check, Resource } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'

/** Which checks of a definition run. */
export interface Selection {
  isActive(check: Check): boolean
}

/** The checks that are in force on the as-of date; with `only`, those codes, of which drafts run too. */
export function selectChecks({ asOf }: Parameters, only: readonly string[]): Selection {
  const codes = new Set(only)
  return {
    isActive: ({ code, status, since, until }) =>
      (since === undefined || since <= asOf) &&
      (until === undefined || until >= asOf) &&
      (codes.size === 0 ? status === 'active' : codes.has(code) && status !== 'retired'),
  }
}

/** The positions of a resource's checks, each -1 if it does not run. */
export function compilePositions(
  resource: Resource,
  selection: Selection,
): (check: Check | undefined) => number {
  const positions = new Map(
    resource.checks.map((check, index) => [check, selection.isActive(check) ? index : -1]),
  )
  return (check) => (check === undefined ? -1 : (positions.get(check) ?? -1))
}
