import { count } from '../../foundation/text/format-number.ts'
import { escapeControls, quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { FieldDifference } from './fields.ts'
import { MAX_PREVIEWED, type RecordChange } from './preview.ts'
import type { CatalogueRevision } from './revision-log.ts'

/** The longest value that is shown, in characters. */
const SHOWN = 60

/** The most records shown in a preview. */
const SHOWN_RECORDS = 20

/** The most fields shown of one record. */
const SHOWN_FIELDS = 10

const SIGNS = { created: '+', updated: '~', deleted: '-' } as const

/** A changed record as text. */
export function describeChange({ occupationCode, title, change, fields = [] }: RecordChange): string {
  const shown = fields.slice(0, SHOWN_FIELDS).map((field) => `    ${describeField(field)}`)
  if (fields.length > shown.length) shown.push(`    and ${count(fields.length - shown.length, 'more field')}`)
  const name = title === undefined ? '' : `  ${escapeControls(title)}`
  return [`${SIGNS[change]} ${occupationCode}${name}`, ...shown].join('\n')
}

function describeField({ field, before, after }: FieldDifference): string {
  return `${field}: ${describeValue(before)} -> ${describeValue(after)}`
}

function describeValue(value: unknown): string {
  if (value === undefined) return '(absent)'
  if (typeof value === 'string') return quote(value, SHOWN)
  const text = JSON.stringify(value)
  return escapeControls(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)
}

/**
 * The changes of a dry run as lines; empty if there are none.
 *
 * @param total the number of all changed records
 */
export function describePreview(changes: readonly RecordChange[], total: number): string {
  const lines = changes.slice(0, SHOWN_RECORDS).map(describeChange)
  const more = total - lines.length
  if (more > 0) lines.push(`and ${count(more, 'more record')} (--json names the first ${MAX_PREVIEWED})`)
  return lines.map((line) => `${line}\n`).join('')
}

/** A revision and its files as text. */
export function describeRevision(revision: CatalogueRevision, current: boolean): string {
  const { number, stored, command, files, created, updated, deleted, total, kept, payBasis } = revision
  const state = current ? ' (current)' : kept ? '' : ' (no longer kept)'
  const head = `${number}${state}  ${formatTimestamp(stored)}  ${command}: ${created} created, ${updated} updated, ${deleted} deleted; ${total} in all`
  const pay = payBasis === '' ? [] : [`    pay in ${payBasis}`]
  return [head, ...pay, ...files.map(({ name, sha256 }) => `    ${name}  sha256 ${sha256}`)].join('\n')
}
