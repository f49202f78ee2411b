import { type ReportedFinding, type ReportInput, SHOWN_OF_CODE } from './report.ts'

/** Collects the first findings of each code. */
export async function collectFirst({ findings }: ReportInput): Promise<Map<string, ReportedFinding[]>> {
  const first = new Map<string, ReportedFinding[]>()
  for await (const finding of findings()) {
    const list = first.get(finding.errorCode)
    if (list === undefined) first.set(finding.errorCode, [finding])
    else if (list.length < SHOWN_OF_CODE) list.push(finding)
  }
  return first
}
