import type { Coding } from '../../engines/finding/index.ts'
import { quote } from '../../foundation/text/quote.ts'
import type { MissingCodes } from '../history/missing-codes.ts'
import { type Decision, keyOfTitle, type ReviewedTitle, UNKNOWN } from './decisions.ts'
import { describeDecided } from './render-titles.ts'

/** Where a review gets its keys and shows its questions. */
export interface ReviewTerminal {
  /** The next key; `undefined` at the end of the input. */
  readKey(): Promise<string | undefined>
  /** A line, for a code. */
  readLine(prompt: string): Promise<string | undefined>
  say(text: string): void
}

export interface ReviewItem {
  readonly title: string
  readonly coding: Coding
}

export interface ReviewData {
  /** What has been decided about a title before. */
  readonly earlier: ReadonlyMap<string, ReviewedTitle>
  /** The codes of these decisions that the catalogue does not have. */
  readonly missing: MissingCodes
  /** The title of an occupation; `undefined` if the catalogue does not have the code. */
  readonly titleOf: (code: string) => Promise<string | undefined>
}

const KEYS = 'a accept the first · 2, 3 accept another · c enter a code · u unknown · s skip · q end'

/**
 * Asks about each title once, with one key each. What is decided before `q` or the end of the input counts.
 *
 * @returns the decisions by the keys of their titles
 */
export async function review(
  items: readonly ReviewItem[],
  terminal: ReviewTerminal,
  { earlier, missing, titleOf }: ReviewData,
): Promise<Map<string, Decision>> {
  const decisions = new Map<string, Decision>()
  const titles = new Map<string, ReviewItem>()
  for (const item of items) {
    const key = keyOfTitle(item.title)
    if (key !== '' && !titles.has(key)) titles.set(key, item)
  }
  terminal.say(KEYS)
  let number = 0
  for (const [key, { title, coding }] of titles) {
    number++
    const candidates = coding.candidates.slice(0, 3)
    terminal.say(`\n${number} of ${titles.size}: ${title}`)
    for (const [index, { occupationCode, titleEnglish = '', certainty }] of candidates.entries())
      terminal.say(`  ${index + 1}  ${occupationCode}  ${titleEnglish}  ${Math.round(certainty * 100)} %`)
    for (const { reviewer, code } of earlier.get(key)?.decisions ?? [])
      terminal.say(`  ${quote(reviewer)} decided: ${describeDecided(code, missing)}`)
    const answer = await ask(
      terminal,
      candidates.map(({ occupationCode }) => occupationCode),
      titleOf,
    )
    if (answer === 'end') break
    if (answer === 'skip') continue
    decisions.set(key, { title, ...(answer.code !== undefined && { code: answer.code }) })
  }
  return decisions
}

async function ask(
  terminal: ReviewTerminal,
  codes: readonly string[],
  titleOf: ReviewData['titleOf'],
): Promise<'end' | 'skip' | { readonly code?: string }> {
  for (;;) {
    const key = (await terminal.readKey())?.toLowerCase()
    if (key === undefined || key === 'q') return 'end'
    if (key === 's') return 'skip'
    if (key === 'u') {
      terminal.say(`  ${UNKNOWN}`)
      return {}
    }
    const code = key === 'a' ? codes[0] : /^[1-3]$/.test(key) ? codes[Number(key) - 1] : undefined
    if (code !== undefined) {
      terminal.say(`  ${code}`)
      return { code }
    }
    if (key === 'c') {
      const typed = (await terminal.readLine('  Code: '))?.trim()
      const title = typed ? await titleOf(typed) : undefined
      if (typed && title !== undefined) {
        terminal.say(`  ${typed}  ${title}`)
        return { code: typed }
      }
      terminal.say(typed ? `  The catalogue does not have the code ${quote(typed)}. ${KEYS}` : `  ${KEYS}`)
    } else if (/\S/.test(key)) terminal.say(`  ${KEYS}`)
  }
}
