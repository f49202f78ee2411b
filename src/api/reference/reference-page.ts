import type { ReferenceDocument } from './document.ts'
import { escapeHtml } from './html.ts'
import type { DemoCredentials } from './reference.ts'
import { renderOperation } from './render-operation.ts'
import { renderFields, renderFolded, schemaAnchor } from './render-schema.ts'
import { renderText } from './render-text.ts'

/**
 * Renders the OpenAPI document as one page that can be read without JavaScript. With it, each operation can be tried.
 *
 * @param sharedErrors the description of the errors that any request can get
 */
export function renderReference(
  document: ReferenceDocument,
  sharedErrors: string,
  demo: DemoCredentials | undefined,
): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))]
  const given: Record<string, string> =
    demo === undefined ? {} : { EID: demo.eid, submissionToken: demo.token }
  const sections = tags.map((tag) => {
    const description = document.tags.find(({ name }) => name === tag)?.description
    const own = operations.filter(({ operation }) => operation.tags.includes(tag))
    return `<h2 id="${anchorOf(tag)}">${escapeHtml(tag)}</h2>
${description === undefined ? '' : renderText(description)}
${own.map(({ path, method, operation }) => renderOperation(path, method, operation, document, given)).join('\n')}`
  })
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `<section id="${escapeHtml(schemaAnchor(name))}">
<h3>${escapeHtml(name)}</h3>
${renderText(schema.description ?? '')}
${renderFolded('Fields', renderFields(schema, `Fields of ${name}`))}
</section>`,
  )
  const links = tags.map((tag) => {
    const items = operations
      .filter(({ operation }) => operation.tags.includes(tag))
      .map(
        ({ operation: { operationId, summary } }) =>
          `<li><a href="#${escapeHtml(operationId)}">${escapeHtml(summary)}</a></li>`,
      )
    return `<p><a href="#${anchorOf(tag)}">${escapeHtml(tag)}</a></p>\n<ul>${items.join('')}</ul>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Mahi API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/static/reference.css">
<script src="/docs/static/reference.js" defer></script>
<body>
<a class="skip" href="#main">Skip to content</a>
<nav aria-label="Operations">
${links.join('\n')}
<p><a href="#errors">Errors</a> · <a href="#schemas">Schemas</a> · <a href="/openapi.json">openapi.json</a></p>
</nav>
<main id="main" tabindex="-1">
${demo === undefined ? '' : '<p class="demo">This is the demo. Its key, its organisation and its submission are filled in below.</p>'}
<h1>Mahi API reference</h1>
<p class="soft">Version ${escapeHtml(document.info.version)}. The same reference for programs is at <a href="/openapi.json">/openapi.json</a>.</p>
${renderText(document.info.description)}
<div class="key" data-key hidden>
<label for="key">API key for the requests that you try here</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" value="${escapeHtml(demo?.key ?? '')}">
<p class="soft">The page keeps it until you leave, and stores it nowhere.</p>
</div>
<noscript><p>Requests can be tried here with JavaScript. Without it, use the curl commands.</p></noscript>
${sections.join('\n')}
<h2 id="errors">Errors</h2>
${renderText(sharedErrors)}
<h2 id="schemas">Schemas</h2>
${schemas.join('\n')}
</main>
</body>
</html>
`
}

const anchorOf = (tag: string) => `tag-${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
