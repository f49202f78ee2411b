import { listColumns, readFromSpreadsheet, type SourceRecord } from '../../engines/records/index.ts'
import { FaultList } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { compileSchema, SINGLE_LINE } from '../../foundation/schema/compile.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { type RepairedRows, readRows } from '../records/read-rows.ts'
import { MAX_CODE_LENGTH } from '../records/schema.ts'
import { type Decision, keyOfTitle, UNKNOWN } from './decisions.ts'
import { findKeyFault, TITLE_RULE } from './titles.ts'

/** The words of the column `decision`; anything else in it is a code. */
const ACCEPT = 'accept'

/** A row of a file of decisions. Every other column, such as those of `mahi occupations code`, is ignored. */
const DecisionRecord = Type.Object({
  title: Type.String(TITLE_RULE),
  decision: Type.Optional(Type.String({ maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE })),
  code: Type.Optional(Type.String({ maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE })),
  language: Type.Optional(Type.Unsafe<'en' | 'mi'>({ type: 'string', enum: ['en', 'mi'] })),
})
export const DECISION_COLUMNS = listColumns(DecisionRecord)

const readDecision = compileSchema(DecisionRecord, { repair: true })

/** A decision as read, and its place in the file. */
interface ReadDecision extends Decision {
  readonly place: Omit<Fault, 'message'>
}

export interface ReadDecisions {
  readonly decisions: readonly ReadDecision[]
  readonly repaired: RepairedRows<Static<typeof DecisionRecord>>
}

/**
 * Reads decisions; rows without one are left out.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readDecisions(records: AsyncIterable<SourceRecord | Fault>): Promise<ReadDecisions> {
  const faults = new FaultList()
  const decisions = new Map<string, ReadDecision>()
  const { rows, repaired } = await readRows<Static<typeof DecisionRecord>>(records, readDecision)
  for (const { value, locate } of rows) {
    const { decision, code, language } = value
    const title = readFromSpreadsheet(value.title)
    if (decision === undefined) continue
    const word = decision.toLowerCase()
    const place = locate(word === ACCEPT && code !== undefined ? 'code' : 'decision')
    if (word === ACCEPT && code === undefined) {
      faults.add([{ ...place, message: `is "${ACCEPT}", but the row has no code to accept` }])
      continue
    }
    const decided = word === ACCEPT ? code : word === UNKNOWN ? undefined : decision
    const fault = findKeyFault(title)
    if (fault !== undefined) faults.add([{ ...locate('title'), message: fault }])
    const key = keyOfTitle(title)
    const earlier = decisions.get(key)
    if (earlier !== undefined && earlier.code !== decided)
      faults.add([{ ...place, message: describeDifference(earlier.place, place) }])
    else if (earlier === undefined) decisions.set(key, { title, language, code: decided, place })
  }
  faults.throwIfFound()
  return { decisions: [...decisions.values()], repaired }
}

function describeDifference(earlier: Omit<Fault, 'message'>, { file }: Omit<Fault, 'message'>): string {
  const line = `line ${earlier.line}${earlier.file === file ? '' : ` of ${earlier.file}`}`
  return `differs from the decision about the same title in ${line}. Keep one of them, or give each reviewer a file: "mahi occupations codings export --reviewer" writes it`
}
