/** The prefix of group codes in filters by Primary relations only: codes contain no control characters. */
export const PRIMARY = '\u0001'

/** The name under which the Primary relations of a group are posted and counted. */
export function asPrimary(code: string): string {
  return `${PRIMARY}${code}`
}
