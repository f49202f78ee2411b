import type { CheckSummary } from '../../engines/checking/index.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { getOrMake } from '../../foundation/get-or-make.ts'
import { countsFirst } from './counts-first.ts'
import type { SubmissionWriter } from './lock.ts'

/** Findings of a kind, without a value of a record. */
interface CauseCount {
  readonly kind: string
  readonly severity: string
  code: string
  readonly file: string
  readonly field: string
  /** What is wrong, without values. */
  readonly sentence: string
  /** The most columns that one of the causes is about. */
  columns: number
  causes: number
  findings: number
  records: number
}

/** Stores what the agency counts of the causes of the current run, instead of those of the run before. */
export async function storeCauses(
  writer: SubmissionWriter,
  token: string,
  causes: CheckSummary['causes'],
): Promise<void> {
  await deleteCauses(writer, token)
  const counts = new Map<string, CauseCount>()
  for (const { kind, severity, codes, file, field = '', general, columns = 1, ...numbers } of causes) {
    const [code = ''] = codes
    const known = getOrMake(counts, JSON.stringify([kind, severity, file, field, general]), () => {
      const none = { causes: 0, findings: 0, records: 0 }
      return { kind, severity, code, file, field, sentence: general, columns, ...none }
    })
    if (code < known.code) known.code = code
    known.columns = Math.max(known.columns, columns)
    known.causes++
    known.findings += numbers.findings
    known.records += numbers.records
  }
  const [first, ...others] = [...counts.values()].map((each, position) => ({ token, position, ...each }))
  if (first === undefined) return
  // All have the same members in the same order.
  const rows = [first, ...others].map((each) => Object.values(each))
  await writer.load('submission_cause', Object.keys(first), rows)
}

export async function deleteCauses(writer: SubmissionWriter, token: string): Promise<void> {
  await writer.run('delete from submission_cause where token = $1', [token])
}

/** What many organisations have to fix, by the current runs of a return. */
export interface FrequentCause extends Readonly<CauseCount> {
  readonly organisations: number
}

/**
 * The most frequent causes of a return over all organisations: counts only. Of an organisation with several submissions,
 * the one counts that its standing shows.
 */
export async function listFrequentCauses(
  reader: Reader,
  returnId: string,
  limit: number,
): Promise<FrequentCause[]> {
  return await reader.all<FrequentCause>(
    `with counted as (
       select token, eid, row_number() over (partition by eid order by ${countsFirst('submission')}) as place
       from submission where return_id = $1 and created is not null and coalesce(ended, '') <> 'Cancelled'
     )
     select c.kind, c.severity, min(c.code) as code, c.file, c.field, c.sentence,
       cast(max(c.columns) as bigint) as columns, cast(count(*) as bigint) as organisations, cast(sum(c.causes) as bigint) as causes,
       cast(sum(c.findings) as bigint) as findings, cast(sum(c.records) as bigint) as records
     from counted s join submission_cause c on c.token = s.token
     where s.place = 1
     group by c.kind, c.severity, c.file, c.field, c.sentence
     order by organisations desc, findings desc, min(c.code), c.file, c.field, c.sentence, c.kind limit ${limit}`,
    [returnId],
  )
}
