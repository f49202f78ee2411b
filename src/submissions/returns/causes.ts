import type { Reader } from '../../foundation/database/database.ts'
import type { Cause } from '../findings/cause.ts'
import type { SubmissionWriter } from '../lock.ts'

/** Findings of a kind, without a value of a record. */
interface CauseCount {
  readonly kind: string
  readonly severity: string
  readonly code: string
  readonly file: string
  readonly field: string
  causes: number
  findings: number
  records: number
}

/** Stores what the agency counts of the causes of the current run, instead of those of the run before. */
export async function storeCauses(
  writer: SubmissionWriter,
  token: string,
  causes: readonly Cause[],
): Promise<void> {
  await deleteCauses(writer, token)
  const counts = new Map<string, CauseCount>()
  for (const { kind, severity, codes, file = '', field = '', findings = 0, records = 0 } of causes) {
    const [code = ''] = codes
    const name = JSON.stringify([kind, severity, code, file, field])
    const known = counts.get(name)
    if (known === undefined)
      counts.set(name, { kind, severity, code, file, field, causes: 1, findings, records })
    else {
      known.causes++
      known.findings += findings
      known.records += records
    }
  }
  const columns = [
    'token',
    'position',
    'kind',
    'severity',
    'code',
    'file',
    'field',
    'causes',
    'findings',
    'records',
  ]
  const rows = [...counts.values()].map((each, at) => [
    ...[token, at, each.kind, each.severity, each.code, each.file, each.field],
    ...[each.causes, each.findings, each.records],
  ])
  await writer.load('submission_cause', columns, rows)
}

export async function deleteCauses(writer: SubmissionWriter, token: string): Promise<void> {
  await writer.run('delete from submission_cause where token = $1', [token])
}

/** What many organisations have to fix, by the current runs of a return. */
export interface FrequentCause extends Readonly<CauseCount> {
  readonly organisations: number
}

/** The most frequent causes of a return over all organisations: counts only. */
export async function listFrequentCauses(
  reader: Reader,
  returnId: string,
  limit: number,
): Promise<FrequentCause[]> {
  return await reader.all<FrequentCause>(
    `select c.kind, c.severity, c.code, c.file, c.field,
       cast(count(distinct s.eid) as bigint) as organisations, cast(sum(c.causes) as bigint) as causes,
       cast(sum(c.findings) as bigint) as findings, cast(sum(c.records) as bigint) as records
     from submission s join submission_cause c on c.token = s.token
     where s.return_id = $1 and coalesce(s.ended, '') <> 'Cancelled'
     group by c.kind, c.severity, c.code, c.file, c.field
     order by organisations desc, findings desc, c.code, c.file, c.field, c.kind limit ${limit}`,
    [returnId],
  )
}
