import { YAMLParseError } from 'yaml'

/** What is wrong with a YAML text, by the code of its parser, and what is allowed. */
const REASONS: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS:
    'a name after "*" or "&" has characters that are not allowed: put text that starts with them in quotes',
  BAD_COLLECTION_TYPE: 'a tag does not fit its value',
  BAD_DIRECTIVE: 'a line that starts with "%" is no valid directive: put text that starts with it in quotes',
  BAD_DQ_ESCAPE: 'a backslash between double quotes must be written twice: use single quotes instead',
  BAD_INDENT: 'the indentation is wrong: keys of one object must start in the same column',
  BAD_PROP_ORDER: 'an anchor or a tag is at the wrong place',
  BAD_SCALAR_START: 'a text starts with a character that must be in quotes, such as @ or `',
  BLOCK_AS_IMPLICIT_KEY:
    'a line has two colons, or its indentation is wrong: put a name with a colon in quotes',
  BLOCK_IN_FLOW: 'an indented list or object is between brackets: close the bracket before it',
  DUPLICATE_KEY: 'two keys of an object are the same: each column can be named once',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters: a colon or a quote is probably missing',
  MISSING_CHAR: 'something is missing: a colon after a key, a comma, or a closing bracket or quote',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines: a colon or a closing quote is probably missing',
  MULTIPLE_DOCS: 'there are several documents: remove the lines "---" after the first',
  NON_STRING_KEY: 'a key is not a text',
  TAB_AS_INDENT: 'a line is indented with a tab: use spaces',
  TAG_RESOLVE_FAILED: 'a value starts with "!", which names a tag: put it in quotes',
  UNEXPECTED_TOKEN:
    'there is text where none is allowed: a quote, comma or bracket is probably at the wrong place',
}

/** Says in words why a text is not YAML, and on which line. */
export function explainYaml(error: unknown): { readonly line: number | undefined; readonly message: string } {
  if (error instanceof YAMLParseError) {
    const [place] = error.linePos ?? []
    const where = place === undefined ? '' : ` at column ${place.col}`
    const reason = REASONS[error.code] ?? 'its structure is wrong'
    return { line: place?.line, message: `is not YAML or JSON${where}: ${reason}` }
  }
  // An alias without an anchor, or too many of them.
  return { line: undefined, message: 'is not YAML or JSON: a text that starts with "*" must be in quotes' }
}
