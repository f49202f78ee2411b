import type { Actor } from '../../api/access/principal.ts'
import { type Definition, listChecks } from '../../engines/checking/index.ts'
import type { RunSummary } from '../submission/runs.ts'

export const EXPLANATION_REASONS = ['Verified', 'Agreed', 'Later', 'Other'] as const
type Reason = (typeof EXPLANATION_REASONS)[number]

/** Why the warnings with a code, or of a cause, are right. */
export interface Explanation {
  /** The code or the key of the cause. */
  readonly target: string
  readonly kind: 'code' | 'cause'
  /** The code, or those of the cause. */
  readonly codes: readonly string[]
  readonly reason: Reason
  readonly text?: string | undefined
  /** The number of findings that were explained. */
  readonly findings: number
  /** The run that had them, by its number in the submission. */
  readonly runId: number
  readonly actor: Actor
  readonly time: number
}

/** What an explanation can be about, in a run. */
export interface Target extends Pick<Explanation, 'target' | 'kind' | 'codes' | 'findings'> {
  readonly isError: boolean
}

/** An explanation has room for this many more findings, or for this share of them, whichever is larger. */
const MORE = 5
const SHARE = 0.1

/** The most findings that an explanation of so many still explains. */
export function mostExplained(findings: number): number {
  return findings + Math.max(MORE, Math.floor(findings * SHARE))
}

export type ExplanationState = 'Explained' | 'Reopened' | 'NoFindings'

/** Whether an explanation holds for a run. */
export function judge(
  { target, findings }: Pick<Explanation, 'target' | 'findings'>,
  summary: RunSummary | undefined,
): { state: ExplanationState; found: number } {
  const found = findTarget(summary, target)?.findings ?? 0
  if (found === 0) return { state: 'NoFindings', found }
  return { state: found <= mostExplained(findings) ? 'Explained' : 'Reopened', found }
}

/** A code with findings, or the key of a cause. */
export function findTarget(summary: RunSummary | undefined, target: string): Target | undefined {
  const code = summary?.codes.find(({ errorCode }) => errorCode === target)
  if (code !== undefined)
    return {
      target,
      kind: 'code',
      codes: [target],
      findings: code.count,
      isError: code.errorType !== 'Warning',
    }
  const cause = summary?.causes?.find(({ key }) => key === target)
  if (cause === undefined) return undefined
  const { codes, findings = 0, severity } = cause
  return { target, kind: 'cause', codes, findings, isError: severity !== 'Warning' }
}

/** A warning that must be explained before the return is submitted. */
export interface OpenWarning {
  readonly code: string
  readonly findings: number
  /** The number that its explanation was for, if it has one that no longer holds. */
  readonly explained?: number | undefined
}

/**
 * The warnings of a run that the definition wants explained, and that nobody explained: neither the code nor each of
 * its causes.
 */
export function findOpenWarnings(
  definition: Definition | undefined,
  summary: RunSummary | undefined,
  explanations: readonly Explanation[],
): OpenWarning[] {
  if (definition === undefined || summary === undefined) return []
  const needed = new Set(
    [...listChecks(definition)].filter(({ check }) => check.needsExplanation).map(({ check }) => check.code),
  )
  const holds = new Set(
    explanations.filter((each) => judge(each, summary).state === 'Explained').map(({ target }) => target),
  )
  return summary.codes.flatMap(({ errorCode: code, errorType, count: findings }) => {
    if (!needed.has(code) || errorType !== 'Warning' || holds.has(code)) return []
    const causes = summary.causes?.filter(({ codes }) => codes.includes(code)) ?? []
    if (causes.length > 0 && causes.every(({ key }) => holds.has(key))) return []
    const given = explanations.find(({ target }) => target === code)
    return [{ code, findings, explained: given?.findings }]
  })
}
