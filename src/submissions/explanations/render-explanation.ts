import type { Rendered } from '../../foundation/schema/type.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { RunSummary } from '../submission/runs.ts'
import { judge, type Explanation as Stored } from './explanation.ts'
import type { Explanation } from './schema.ts'

/** An explanation, and whether it holds for a run. */
export function renderExplanation(
  explanation: Stored,
  summary: RunSummary | undefined,
): Rendered<typeof Explanation> {
  const { target, kind, codes, reason, text, findings, runId, actor, time } = explanation
  const { state, found } = judge(explanation, summary)
  return {
    target,
    kind,
    codes,
    reason,
    text,
    state,
    findings: found,
    explainedFindings: findings,
    reopened:
      state === 'Reopened'
        ? `It was given for ${count(findings, 'finding')}, and the current run has ${formatNumber(found)}.`
        : undefined,
    runId,
    actor,
    time: formatTimestamp(time),
  }
}
