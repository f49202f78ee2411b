import { compileSchema, SINGLE_LINE } from '../../foundation/schema/compile.ts'
import { Type } from '../../foundation/schema/type.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { RowChecks } from '../records/read-rows.ts'
import { keyOfTitle } from './decisions.ts'

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
 * Why the form in which a title is compared with others cannot be stored: a clause with the title as its subject;
 * `undefined` if it can. A few characters of Arabic and Japanese stand for whole phrases there.
 */
export function findKeyFault(title: string): string | undefined {
  const length = [...keyOfTitle(title)].length
  if (length === 0) return 'is blank'
  if (length <= MAX_TITLE_LENGTH) return undefined
  return `has ${formatNumber(length)} characters with its ligatures written out; at most ${MAX_TITLE_LENGTH} are allowed`
}

/**
 * Why a title of a request cannot be stored: a clause with the title as its subject; `undefined` if it can. A program
 * can send what it means, so nothing is repaired.
 */
export function findTitleFault(given: string): string | undefined {
  const { value, faults, damage, repaired } = readTitle({ title: given })
  const [fault] = [...faults, ...damage]
  if (fault !== undefined) return fault.message
  if (!repaired) return findKeyFault(given)
  const { title = '' } = value as TitleRow
  return `is ${quote(given)}, UTF-8 that was decoded as Windows-1252 or Latin-1; it was probably ${quote(title)}. Send it as UTF-8`
}
