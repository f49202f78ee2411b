import type { Schema } from './document.ts'
import { escapeHtml } from './html.ts'
import { renderInline } from './render-text.ts'

/** The anchor of a named schema. */
export const schemaAnchor = (name: string): string => `schema-${name}`

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1)

/** A link to the section of a named schema. */
function renderReference($ref: string): string {
  const name = nameOf($ref)
  return `<a href="#${escapeHtml(schemaAnchor(name))}">${escapeHtml(name)}</a>`
}

/** The type of a value and its limits, such as `integer, 1 to 100, default 20`. */
export function renderType(schema: Schema): string {
  if (schema.$ref !== undefined) return renderReference(schema.$ref)
  if (schema.type === 'array') {
    const most = schema.maxItems === undefined ? '' : `, at most ${schema.maxItems}`
    return `list of ${schema.items === undefined ? 'values' : renderType(schema.items)}${most}`
  }
  const { minimum, maximum, maxLength, format } = schema
  const type =
    format === 'date-time' ? 'time (RFC 3339)' : format === 'binary' ? 'bytes' : (schema.type ?? 'value')
  const range =
    minimum !== undefined && maximum !== undefined
      ? `${minimum} to ${maximum}`
      : minimum !== undefined
        ? `at least ${minimum}`
        : maximum !== undefined
          ? `at most ${maximum}`
          : undefined
  const parts = [
    escapeHtml(type),
    range,
    maxLength === undefined ? undefined : `at most ${maxLength} characters`,
    schema.enum &&
      `one of ${schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(', ')}`,
    schema.default === undefined ? undefined : `default <code>${escapeHtml(String(schema.default))}</code>`,
  ]
  return parts.filter((part) => part !== undefined).join(', ')
}

/** A table of the fields of an object; those of nested objects without a name have their path. */
export function renderFields(schema: Schema, label: string): string {
  if (schema.$ref !== undefined || schema.properties === undefined) return `<p>${renderType(schema)}</p>`
  return renderTable(label, ['Field', 'Type', 'Meaning'], [...listRows(schema, '')])
}

function* listRows({ properties = {}, required = [] }: Schema, prefix: string): Generator<string[]> {
  for (const [name, field] of Object.entries(properties)) {
    const path = prefix + name
    const mark = required.includes(name) ? ' <strong>required</strong>' : ''
    yield [
      `<code>${escapeHtml(path)}</code>${mark}`,
      renderType(field),
      renderInline(field.description ?? ''),
    ]
    if (field.properties !== undefined) yield* listRows(field, `${path}.`)
    if (field.items?.properties !== undefined) yield* listRows(field.items, `${path}[].`)
  }
}

/** A table whose rows are stacked on a narrow screen, and that scrolls sideways otherwise; its cells are HTML. */
export function renderTable(label: string, columns: readonly string[], rows: readonly string[][]): string {
  const head = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('')
  const body = rows.map(
    ([first = '', ...cells]) =>
      `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`,
  )
  return `<div class="scroll" tabindex="0" role="group" aria-label="${escapeHtml(label)}"><table>
<thead><tr>${head}</tr></thead>
<tbody>${body.join('\n')}</tbody></table></div>`
}

/** A part of a section. The script opens it on a wide screen; on a narrow one, all open parts are 190,000 pixels high. */
export function renderFolded(heading: string, content: string): string {
  return `<details data-folded><summary><h4>${escapeHtml(heading)}</h4></summary>\n${content}\n</details>`
}

/** A value to begin with, for the body of a request: an empty value counts as absent. */
export function makeExample(schema: Schema, named: Readonly<Record<string, Schema>>): unknown {
  if (schema.$ref !== undefined) return makeExample(named[nameOf(schema.$ref)] ?? {}, named)
  if (schema.type === 'array') return schema.items === undefined ? [] : [makeExample(schema.items, named)]
  if (schema.type === 'object') {
    const { properties = {}, required = [] } = schema
    const names = required.length > 0 ? required : Object.keys(properties)
    return Object.fromEntries(names.map((name) => [name, makeExample(properties[name] ?? {}, named)]))
  }
  if (schema.default !== undefined) return schema.default
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0
  return schema.type === 'boolean' ? false : (schema.enum?.[0] ?? '')
}
