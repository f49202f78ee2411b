import { compileSchema, SINGLE_LINE } from '../../foundation/schema/compile.ts'
import { Type } from '../../foundation/schema/type.ts'
import { quote } from '../../foundation/text/quote.ts'
import { RowChecks } from '../names/read-rows.ts'

/** The longest title, in characters. */
export const MAX_TITLE_LENGTH = 300

/** What a job title must be, wherever a decision about it comes from. */
export const TITLE_RULE = { minLength: 1, maxLength: MAX_TITLE_LENGTH, pattern: SINGLE_LINE } as const

interface TitleRow {
  readonly title?: string
}

const readTitle = compileSchema(Type.Object({ title: Type.Optional(Type.String(TITLE_RULE)) }), {
  repair: true,
})

/** Checks the titles of a file, and repairs those that were decoded with the wrong character set. */
export const checkTitles = () => new RowChecks<TitleRow>(readTitle)
export type TitleChecks = ReturnType<typeof checkTitles>

/**
 * Why a title of a request cannot be stored: a clause with the title as its subject; `undefined` if it can. A program
 * can send what it means, so nothing is repaired.
 */
export function findTitleFault(given: string): string | undefined {
  const { value, faults, damage, repaired } = readTitle({ title: given })
  const [fault] = [...faults, ...damage]
  if (fault !== undefined) return fault.message
  if (!repaired) return undefined
  const { title = '' } = value as TitleRow
  return `is ${quote(given)}, UTF-8 that was decoded as Windows-1252 or Latin-1; it was probably ${quote(title)}. Send it as UTF-8`
}
