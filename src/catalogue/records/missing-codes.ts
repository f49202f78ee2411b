import type { Reader } from '../../foundation/database/database.ts'
import { compareCodePoints } from '../../foundation/text/code-points.ts'
import { quote } from '../../foundation/text/quote.ts'
import { describeSuccessors } from './replacements.ts'
import { type MissingCode, type MissingCodeRow, toMissingCode } from './rows.ts'

/** Those of the codes that the catalogue does not have, in their order, and what became of them. */
export async function findMissingCodes(
  reader: Reader,
  codes: Iterable<string>,
): Promise<ReadonlyMap<string, MissingCode>> {
  const rows = await reader.all<MissingCodeRow>(
    `select e.value as code, t.removed, t.replaced_by from ${reader.dialect.texts('$1', 'e')}
     left join occupation o on o.code = e.value
     left join occupation_removed t on t.code = e.value
     where o.code is null`,
    [JSON.stringify([...new Set(codes)])],
  )
  const missing = rows.map(toMissingCode).sort((a, b) => compareCodePoints(a.code, b.code))
  return new Map(missing.map((each) => [each.code, each]))
}

/** Why a code is refused: a clause with its field as the subject. */
export function describeMissing({ code, removed, replacedBy }: MissingCode): string {
  const why =
    removed === undefined
      ? 'which the catalogue does not have'
      : `no longer in the catalogue${describeSuccessors(replacedBy)}`
  return `is ${quote(code)}, ${why}`
}
