import Type, { type Static } from 'typebox'
import { listColumns, type SourceRecord } from '../../engines/records/index.ts'
import { FaultList } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { compileSchema, SINGLE_LINE } from '../../foundation/schema/compile.ts'
import { readRows } from '../names/read-rows.ts'
import { MAX_CODE_LENGTH } from '../records/schema.ts'
import { type Decision, keyOfTitle, MAX_TITLE_LENGTH } from './decisions.ts'

/** The words of the column `decision`; anything else in it is a code. */
const ACCEPT = 'accept'
export const UNKNOWN = 'unknown'

/** A row of a file of decisions. Every other column, such as those of `mahi occupations code`, is ignored. */
const DecisionRecord = Type.Object({
  title: Type.String({ maxLength: MAX_TITLE_LENGTH, pattern: SINGLE_LINE }),
  decision: Type.Optional(Type.String({ maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE })),
  code: Type.Optional(Type.String({ maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE })),
  language: Type.Optional(Type.Unsafe<'en' | 'mi'>({ type: 'string', enum: ['en', 'mi'] })),
})
export const DECISION_COLUMNS = listColumns(DecisionRecord)

const readDecision = compileSchema(DecisionRecord, { repair: true })

/** A decision as read, and its place in the file. */
export interface ReadDecision extends Decision {
  readonly place: Omit<Fault, 'message'>
}

/**
 * Reads decisions; rows without one are left out.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS
 */
export async function readDecisions(records: AsyncIterable<SourceRecord | Fault>): Promise<ReadDecision[]> {
  const faults = new FaultList()
  const decisions = new Map<string, ReadDecision>()
  for (const { value, locate } of await readRows<Static<typeof DecisionRecord>>(records, readDecision)) {
    const { title, decision, code, language } = value
    if (decision === undefined) continue
    const place = locate('decision')
    const word = decision.toLowerCase()
    if (word === ACCEPT && code === undefined) {
      faults.add([{ ...place, message: `is "${ACCEPT}", but the row has no code to accept` }])
      continue
    }
    const decided = word === ACCEPT ? code : word === UNKNOWN ? undefined : decision
    const key = keyOfTitle(title)
    const earlier = decisions.get(key)
    if (earlier !== undefined && earlier.code !== decided)
      faults.add([
        { ...place, message: `differs from the decision about the same title in line ${earlier.place.line}` },
      ])
    else if (earlier === undefined) decisions.set(key, { title, language, code: decided, place })
  }
  faults.throwIfFound()
  return [...decisions.values()]
}
