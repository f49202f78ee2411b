import type { Dialect } from './definition.ts'
import type { Node } from './node.ts'

/** What only a database or JSON has. */
const OTHER_FORMATS = ['property', 'itemType', 'itemKeys', 'table']

/** The most lines that a header or comments may take. */
const MOST_ROWS = 100

/** What Frictionless writes beside the dialect, as far as it says which lines and columns are read. */
const LIMITS = [
  'pickFields',
  'skipFields',
  'limitFields',
  'offsetFields',
  'pickRows',
  'skipRows',
  'limitRows',
  'offsetRows',
]

/**
 * Reads the dialect of a resource: how its file is divided into records and values.
 *
 * @param layout the part of it that version 4 of Frictionless has beside it
 */
export function readDialect(given: Node, layout: Node): Dialect {
  const node = given.with(given.get('csv'), layout)
  for (const name of LIMITS) if (layout.get(name).present) layout.get(name).fault('is not supported')
  node.object()?.knows([], { strict: true, object: 'dialect' })
  for (const name of OTHER_FORMATS) {
    if (node.get(name).present) node.get(name).fault('is not supported: Mahi reads CSV, NDJSON and workbooks')
  }
  for (const name of ['sheetName', 'sheetNumber']) {
    if (node.get(name).present)
      node.get(name).note('is not used: a sheet is recognised by its name or its columns')
  }
  const header = node.get('header').present ? node.get('header').flag() : true
  const headerRows = readRows(node.get('headerRows'))
  if (node.get('headerRows').present && !header && headerRows.length > 0)
    node.get('headerRows').fault('contradicts header, which is false')
  const delimiter = node.get('delimiter').filledText()
  if (delimiter !== undefined && /["\r\n]/.test(delimiter))
    node.get('delimiter').fault('must not contain a quote or the end of a line')
  const doubleQuote = node.get('doubleQuote')
  return {
    delimiter,
    headerRows: !header ? [] : headerRows.length > 0 ? headerRows : [1],
    headerJoin: node.get('headerJoin').text() ?? ' ',
    commentRows: readRows(node.get('commentRows')),
    commentChar: node.get('commentChar').filledText(),
    lineTerminator: node.get('lineTerminator').filledText(),
    // Without one, quotes are text.
    quoteChar: ['', null].includes(node.get('quoteChar').value as never)
      ? ''
      : readCharacter(node.get('quoteChar')),
    doubleQuote: doubleQuote.present ? doubleQuote.flag() : true,
    escapeChar: readCharacter(node.get('escapeChar')),
    skipInitialSpace: node.get('skipInitialSpace').flag(),
  }
}

function readRows(node: Node): number[] {
  const rows = node.list().flatMap((item) => {
    const row = item.whole()
    if (row !== undefined && (row < 1 || row > MOST_ROWS)) item.fault(`must be a line from 1 to ${MOST_ROWS}`)
    return row ?? []
  })
  return [...new Set(rows)].sort((one, other) => one - other)
}

function readCharacter(node: Node): string | undefined {
  const text = node.filledText()
  if (text !== undefined && (text.length !== 1 || /[\r\n]/.test(text)))
    return node.fault('must be one character')
  return text
}
