import { distance } from 'fastest-levenshtein'
import type { Reader } from '../../foundation/database/database.ts'

/** Codes compared on either side of an unknown one. */
const NEIGHBOURS = 20

/** The most codes that a response suggests. */
const MOST = 3

/** Finds codes similar to an unknown one: its neighbours in code order, and variants in another case. */
export async function findSimilarCodes(reader: Reader, code: string): Promise<string[]> {
  const rows = await reader.all<{ code: string }>(
    `select code from (select code from occupation where code >= $1 order by code limit ${NEIGHBOURS}) after_it
     union select code from (
       select code from occupation where code < $1 order by code desc limit ${NEIGHBOURS}
     ) before_it
     union select code from occupation where code in ($2, $3)`,
    [code, code.toUpperCase(), code.toLowerCase()],
  )
  return nearest(
    code,
    rows.map((row) => row.code),
  )
}

/** The texts closest to another, if any are close. */
export function nearest(text: string, known: readonly string[]): string[] {
  const lower = text.toLowerCase()
  return known
    .map((each) => ({ each, apart: distance(lower, each.toLowerCase()) }))
    .filter(({ apart, each }) => apart <= Math.max(2, each.length / 3))
    .sort((a, b) => a.apart - b.apart || (a.each < b.each ? -1 : 1))
    .slice(0, MOST)
    .map(({ each }) => each)
}

/** Returns ` Similar codes: "11", "12".`, or an empty string. */
export function suggestCodes(codes: readonly string[]): string {
  return codes.length === 0 ? '' : ` Similar codes: ${codes.map((code) => JSON.stringify(code)).join(', ')}.`
}
