import { flag, text } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import type { RunSummary } from '../submission/runs.ts'

/** A check that could not run. */
export const NotRun = Type.Object({
  errorCode: text('The code.'),
  reason: text('Why it did not run.'),
  blocks: flag(
    'Whether the submission is refused because of it: the check was stopped, and what it finds must be fixed or explained.',
  ),
})

export function renderNotRun({ notRun }: RunSummary): Static<typeof NotRun>[] {
  return notRun.map(({ code, ...why }) => ({ errorCode: code, ...why }))
}
