/** Stands before the code of a group in filters that only count Primary relations: no code has a control character. */
export const PRIMARY = '\u0001'

/** The name under which a group's Primary relations are posted and counted. */
export function asPrimary(code: string): string {
  return `${PRIMARY}${code}`
}
