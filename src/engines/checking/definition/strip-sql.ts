/** A query without its comments, and with empty strings. */
export function stripSql(sql: string): string {
  return sql.replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)/g, (part) =>
    part.startsWith("'") ? "''" : ' ',
  )
}
