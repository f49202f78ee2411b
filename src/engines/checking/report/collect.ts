import { increment } from '../../../foundation/increment.ts'
import { type ReportedFinding, type ReportInput, SHOWN_OF_CAUSE, SHOWN_OF_CODE } from './report.ts'

/** Decides finding by finding, in order, which ones a report shows: the first of each code, and of each cause. */
function chooseShown(): (finding: ReportedFinding) => boolean {
  const ofCode = new Map<string, number>()
  const ofCause = new Map<string, number>()
  return ({ errorCode, cause = '' }) => {
    const isFirstOfCode = increment(ofCode, errorCode) <= SHOWN_OF_CODE
    const isFirstOfCause = increment(ofCause, cause) <= SHOWN_OF_CAUSE
    return isFirstOfCode || isFirstOfCause
  }
}

/** The findings that a report shows, in order. */
export async function collectShown({ findings }: ReportInput): Promise<ReportedFinding[]> {
  const shown: ReportedFinding[] = []
  const isShown = chooseShown()
  for await (const finding of findings()) if (isShown(finding)) shown.push(finding)
  return shown
}
