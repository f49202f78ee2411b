import { lookUp } from '../../../foundation/look-up.ts'
/** A query with one changed comparison. */
export interface Mutant {
  readonly sql: string
  /** Describes the change. */
  readonly change: string
}

const CHANGES = lookUp<readonly string[]>({
  '=': ['<>'],
  '==': ['<>'],
  '<>': ['='],
  '!=': ['='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  is: ['is not'],
  'is not': ['is'],
  in: ['not in'],
  'not in': ['in'],
  exists: ['not exists'],
  'not exists': ['exists'],
  between: ['not between'],
  'not between': ['between'],
})

/** Strings, quoted names and comments are skipped; `->` and `<<` are not comparisons. */
const TOKEN =
  /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|->>?|<<|>>|<=|>=|<>|!=|==|[=<>]|\b(?:is\s+not|not\s+in|not\s+exists|not\s+between|is|in|exists|between)\b/gi

/** Returns every variant of a query with one changed comparison. */
export function mutateComparisons(sql: string): Mutant[] {
  return [...sql.matchAll(TOKEN)].flatMap((match) => {
    const token = match[0]
    const changes = CHANGES[token.toLowerCase().replace(/\s+/g, ' ')]
    if (changes === undefined || isExempt(sql, match.index)) return []
    const line = sql.slice(0, match.index).split('\n').length
    return changes.map((change) => ({
      sql: sql.slice(0, match.index) + change + sql.slice(match.index + token.length),
      change: `line ${line} of the query: ${token} to ${change}`,
    }))
  })
}

function isExempt(sql: string, at: number): boolean {
  const end = sql.indexOf('\n', at)
  return /--\s*unmutated:\s*\S/.test(sql.slice(at, end === -1 ? sql.length : end))
}
