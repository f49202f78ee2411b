import type { ReferenceDocument, ReferenceOperation, ReferenceParameter } from './document.ts'
import { escapeHtml } from './html.ts'
import { makeExample, renderFields, renderFolded, renderTable, renderType } from './render-schema.ts'
import { renderInline, renderText } from './render-text.ts'

/** Values that the forms begin with, by the names of parameters. */
export type Given = Readonly<Record<string, string>>

/** The section of an operation: what it does, takes and returns, and a form that sends it. */
export function renderOperation(
  path: string,
  method: string,
  operation: ReferenceOperation,
  { components: { schemas } }: ReferenceDocument,
  given: Given,
): string {
  const { operationId: id, summary, description, parameters = [], requestBody } = operation
  const bodies = Object.entries(requestBody?.content ?? {})
  const [[type, body] = [undefined, {}]] = bodies
  const fields = body.schema?.type === 'object' ? renderFields(body.schema, `Body of ${summary}`) : ''
  return `<section class="operation" id="${escapeHtml(id)}" aria-labelledby="${escapeHtml(id)}-title">
<h3 id="${escapeHtml(id)}-title"><a href="#${escapeHtml(id)}">${escapeHtml(summary)}</a></h3>
<p class="route"><b>${method.toUpperCase()}</b> <code>${escapeHtml(path).replaceAll('/', '/<wbr>')}</code></p>
${renderText(description)}
<p class="soft">${renderAccess(operation)} Operation ID: <code>${escapeHtml(id)}</code>.</p>
${parameters.length === 0 ? '' : renderFolded('Parameters', renderParameters(summary, parameters))}
${bodies.length === 0 ? '' : `<h4>Body</h4>\n<p>${bodies.map(([each]) => `<code>${escapeHtml(each)}</code>`).join(' or ')}</p>\n${fields}`}
${renderFolded('Responses', renderResponses(operation))}
<details><summary>Try ${escapeHtml(summary.charAt(0).toLowerCase() + summary.slice(1))}</summary>
${renderForm(path, method, operation, { type, example: body.schema && makeExample(body.schema, schemas) }, given)}
</details>
</section>`
}

function renderAccess({ security = [] }: ReferenceOperation): string {
  const scopes = security.flatMap((way) => Object.values(way).flat())
  const isOpen = security.some((way) => Object.keys(way).length === 0)
  if (isOpen) return 'Needs no credential.'
  const [scope] = scopes
  return scope === undefined
    ? 'Needs any valid credential.'
    : `Needs a credential with the scope <code>${escapeHtml(scope)}</code>.`
}

function renderParameters(summary: string, parameters: readonly ReferenceParameter[]): string {
  return renderTable(
    `Parameters of ${summary}`,
    ['Name', 'In', 'Type', 'Meaning'],
    parameters.map(({ name, in: place, required, schema, description = '' }) => [
      `<code>${escapeHtml(name)}</code>${required === true ? ' <strong>required</strong>' : ''}`,
      place,
      renderType(schema),
      renderInline(description),
    ]),
  )
}

function renderResponses({ responses, summary }: ReferenceOperation): string {
  const rows = Object.entries(responses).map(([status, { description = '', content = {}, $ref }]) => {
    const types = Object.entries(content).map(([type, { schema }]) => {
      const shown = schema?.$ref === undefined ? '' : `: ${renderType(schema)}`
      return `<code>${escapeHtml(type)}</code>${shown}`
    })
    return [
      status === 'default' ? 'any other' : escapeHtml(status),
      $ref === undefined
        ? renderInline(description)
        : '<a href="#errors">Errors that any request can get</a>',
      types.join('<br>'),
    ]
  })
  const examples = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.values(content).flatMap(({ example }) =>
      example === undefined
        ? []
        : `<details><summary>Example of ${escapeHtml(status)}</summary><pre tabindex="0"><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre></details>`,
    ),
  )
  return [renderTable(`Responses of ${summary}`, ['Status', 'Meaning', 'Content'], rows), ...examples].join(
    '\n',
  )
}

function renderForm(
  path: string,
  method: string,
  { operationId: id, parameters = [] }: ReferenceOperation,
  body: { readonly type: string | undefined; readonly example: unknown },
  given: Given,
): string {
  const fields = parameters.map(({ name, in: place, required, schema }) => {
    const field = `${id}-${name}`.replaceAll(/[^\w-]/g, '_')
    const values = schema.enum?.map(String)
    const input =
      values === undefined
        ? `<input id="${field}" name="${escapeHtml(name)}" data-in="${place}" value="${escapeHtml(given[name] ?? '')}"${required === true ? ' required' : ''} autocomplete="off" spellcheck="false">`
        : `<select id="${field}" name="${escapeHtml(name)}" data-in="${place}"><option value="">(absent)</option>${values.map((value) => `<option>${escapeHtml(value)}</option>`).join('')}</select>`
    return `<div><label for="${field}">${escapeHtml(name)}</label>${input}</div>`
  })
  const text = typeof body.example === 'object' ? JSON.stringify(body.example, null, 2) : ''
  const bodyField =
    body.type === undefined
      ? ''
      : `<div><label for="${id}-body">Body (${escapeHtml(body.type)})</label><textarea id="${id}-body" data-type="${escapeHtml(body.type)}" rows="8" spellcheck="false">${escapeHtml(text)}</textarea></div>`
  const command = describeCommand(path, method, body.type, text)
  return `<form data-method="${method.toUpperCase()}" data-path="${escapeHtml(path)}" hidden>
${fields.join('\n')}
${bodyField}
<button type="submit">Send the request</button>
<p role="status" data-status></p>
<pre data-answer hidden tabindex="0" aria-label="Response"></pre>
</form>
<p>With curl, where <code>$KEY</code> is your key and <code>$URL</code> the service:</p>
<pre tabindex="0" data-curl>${escapeHtml(command)}</pre>`
}

function describeCommand(path: string, method: string, type: string | undefined, body: string): string {
  return [
    'curl',
    ...(method === 'get' ? [] : ['-X', method.toUpperCase()]),
    '-H "X-API-Key: $KEY"',
    ...(type === undefined ? [] : [`-H "Content-Type: ${type}"`]),
    ...(body === '' ? [] : [`-d '${JSON.stringify(JSON.parse(body))}'`]),
    `"$URL${path}"`,
  ].join(' ')
}
