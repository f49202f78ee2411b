import type { CST, YAMLParseError } from 'yaml'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { loadYaml } from '../../foundation/package/when-used.ts'
import { reasonOf } from './json-value.ts'

/** What is wrong with a YAML text, by the code of its parser, and what is allowed. */
const REASONS = lookUp<string>({
  BAD_ALIAS:
    'a name after "*" or "&" has characters that are not allowed: put text that starts with them in quotes',
  BAD_DIRECTIVE: 'a line that starts with "%" is no valid directive: put text that starts with it in quotes',
  BAD_DQ_ESCAPE: 'a backslash between double quotes must be written twice: use single quotes instead',
  BAD_INDENT: 'the indentation is wrong: keys of one object must start in the same column',
  BAD_SCALAR_START: 'a text starts with a character that must be in quotes, such as @ or `',
  BLOCK_AS_IMPLICIT_KEY:
    'a line has two colons, or its indentation is wrong: put a name with a colon in quotes',
  BLOCK_IN_FLOW: 'an indented list or object is between brackets: close the bracket before it',
  DUPLICATE_KEY: 'two keys of an object are the same: each column can be named once',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters: a colon or a quote is probably missing',
  MISSING_CHAR: 'something is missing: a colon after a key, a comma, or a closing bracket or quote',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines: a colon or a closing quote is probably missing',
  MULTIPLE_DOCS: 'there are several documents: remove the lines "---" after the first',
  TAB_AS_INDENT: 'a line is indented with a tab: use spaces',
  TAG_RESOLVE_FAILED: 'a value starts with "!", which names a tag: put it in quotes',
  UNEXPECTED_TOKEN:
    'there is text where none is allowed: a quote, comma or bracket is probably at the wrong place',
})

/** The parser's messages for a bracket or a quote that is not closed. Its codes for them have other causes too. */
const UNCLOSED = /\bend with a [\]}]|^Missing closing /

/** What closes a list, an object or a text, by what opens it. */
const CLOSING = lookUp<string>({ '[': ']', '{': '}', '"': '"', "'": "'" })

/**
 * Says in words why a text is not YAML or JSON, and on which line.
 *
 * @param text the text, which shows where a bracket or a quote opens that is not closed
 */
export function explainYaml(error: unknown, text: string): Pick<Fault, 'line' | 'message'> {
  if (error instanceof loadYaml().YAMLParseError) {
    const isUnclosed = UNCLOSED.test(error.message)
    const open = isUnclosed ? findOpen(text, error.pos[0]) : undefined
    if (open !== undefined)
      return { line: open.line, message: `is not YAML or JSON: ${describeOpen(open, error, text)}` }
    const [place] = error.linePos ?? []
    const where = place === undefined ? '' : ` at column ${place.col}`
    const reason = isUnclosed
      ? 'a bracket or a quote that opens before is not closed'
      : (REASONS[error.code] ?? 'its structure is wrong')
    return { ...(place && { line: place.line }), message: `is not YAML or JSON${where}: ${reason}` }
  }
  if (error instanceof SyntaxError) return explainJson(error, text)
  // An alias without an anchor, or too many of them.
  return { message: 'is not YAML or JSON: a text that starts with "*" must be in quotes' }
}

function explainJson(error: SyntaxError, text: string): Pick<Fault, 'line' | 'message'> {
  const line = findJsonLine(error, text)
  return { ...(line !== undefined && { line }), message: `is not JSON: ${reasonOf(error)}` }
}

/** The parser of JSON says the line, or what surrounds the place, from ten characters before it. */
function findJsonLine({ message }: SyntaxError, text: string): number | undefined {
  const [, line] = /\(line (\d+)/.exec(message) ?? []
  if (line !== undefined) return Number(line)
  const start = message.indexOf(AROUND)
  const at = text.indexOf(message.slice(start + AROUND.length, message.lastIndexOf('"')))
  return start === -1 || at === -1 ? undefined : text.slice(0, at + 10).split('\n').length
}

const AROUND = ', ..."'

/** A bracket or a quote that is not closed, and its place. */
interface Open {
  readonly mark: string
  readonly line: number
  readonly column: number
}

function describeOpen({ mark, column }: Open, { message, pos }: YAMLParseError, text: string): string {
  const closing = CLOSING[mark] ?? ''
  const what = closing === mark ? 'quote' : 'bracket'
  // Within an indented list or object, a line that is not indented ends a bracket whose own end may still follow.
  const isClosedLater = text
    .slice(pos[0])
    .split('\n')
    .some((line) => line.trimStart().startsWith(closing))
  const isIndentation = isClosedLater && message.includes('sufficiently indented')
  return isIndentation
    ? `the lines from the ${what} ${mark} at column ${column} to its ${closing} must be indented`
    : `the ${what} ${mark} at column ${column} is not closed. Add ${closing} where it ends`
}

/** Finds the last bracket or quote before an offset that is not closed. */
function findOpen(text: string, end: number): Open | undefined {
  let found: { readonly mark: string; readonly offset: number } | undefined
  const look = (token: CST.Token | null | undefined) => {
    if (token === null || token === undefined || token.offset >= end) return
    const mark = findOpening(token)
    if (mark !== undefined) found = { mark, offset: token.offset }
  }
  const { CST, Parser } = loadYaml()
  for (const document of new Parser().parse(text)) {
    if (document.type !== 'document') continue
    CST.visit(document, ({ key, value }) => {
      look(key)
      look(value)
    })
  }
  if (found === undefined) return undefined
  const before = text.slice(0, found.offset).split('\n')
  return { mark: found.mark, line: before.length, column: (before.at(-1) ?? '').length + 1 }
}

/** The bracket or the quote that opens a part of a text; `undefined` if it is closed, or needs no closing. */
function findOpening(token: CST.Token): string | undefined {
  if (token.type === 'flow-collection') {
    const mark = token.start.source
    return token.end[0]?.source === CLOSING[mark] ? undefined : mark
  }
  if (token.type !== 'double-quoted-scalar' && token.type !== 'single-quoted-scalar') return undefined
  const { source } = token
  const mark = source.charAt(0)
  return source.length > 1 && source.endsWith(mark) ? undefined : mark
}
