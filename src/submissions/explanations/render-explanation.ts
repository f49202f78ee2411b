import type { Static } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { RunSummary } from '../findings/runs.ts'
import { judge, type Explanation as Stored } from './explanation.ts'
import type { Explanation } from './schema.ts'

/** An explanation, and whether it holds for a run. */
export function renderExplanation(
  explanation: Stored,
  summary: RunSummary | undefined,
): Static<typeof Explanation> {
  const { target, kind, codes, reason, text, findings, runId, actor, time } = explanation
  const { state, found } = judge(explanation, summary)
  return {
    target,
    kind,
    codes: [...codes],
    reason,
    ...(text !== undefined && { text }),
    state,
    findings: found,
    explainedFindings: findings,
    ...(state === 'Reopened' && {
      reopened: `It was given for ${findings} findings, and the current run has ${found}.`,
    }),
    runId,
    actor,
    time: formatTimestamp(time),
  }
}
