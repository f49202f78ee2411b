import type { Reader } from '../../foundation/database/database.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { findMissingCodes } from '../records/missing-codes.ts'
import { renderMissingCode } from '../records/rows.ts'
import type { ReviewedTitle } from './decisions.ts'

/** Titles as the API shows them, with the codes of their decisions that the catalogue no longer has. */
export async function renderTitles(reader: Reader, titles: readonly ReviewedTitle[]) {
  const missing = await findMissingCodes(reader, titles.flatMap(listCodes))
  return titles.map((reviewed) => {
    const { id, title, language, state, code, decisions } = reviewed
    const missingCodes = [...new Set(listCodes(reviewed))].flatMap((each) => missing.get(each) ?? [])
    return {
      id,
      title,
      language,
      state,
      occupationCode: code,
      decisions: decisions.map(({ reviewer, code, decided }) => ({
        reviewer,
        occupationCode: code,
        decidedDate: formatTimestamp(decided),
      })),
      missingCodes: missingCodes.length === 0 ? undefined : missingCodes.map(renderMissingCode),
    }
  })
}

function listCodes({ decisions }: ReviewedTitle): string[] {
  return decisions.flatMap(({ code }) => code ?? [])
}
