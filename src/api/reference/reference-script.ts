/** Runs in the browser: shows the OpenAPI document in light or dark mode, with the demo's credentials filled in. */
export const SCRIPT = `'use strict'
const dark = matchMedia('(prefers-color-scheme: dark)')
const applyMode = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', applyMode)
applyMode()

const container = document.getElementById('reference')
const demo = container.dataset.demo === undefined ? undefined : JSON.parse(container.dataset.demo)

async function show() {
  const spec = await (await fetch('/openapi.json')).json()
  if (demo !== undefined) fillIn(spec)
  const ui = SwaggerUIBundle({
    spec,
    domNode: container,
    presets: [SwaggerUIBundle.presets.apis],
    layout: 'BaseLayout',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    persistAuthorization: false,
    onComplete() {
      if (demo !== undefined) ui.preauthorizeApiKey('apiKey', demo.key)
    },
  })
}

function fillIn(spec) {
  const values = { EID: demo.eid, submissionToken: demo.token }
  for (const operations of Object.values(spec.paths)) {
    for (const { parameters = [] } of Object.values(operations)) {
      for (const parameter of parameters) {
        if (parameter.name in values) parameter.example = values[parameter.name]
      }
    }
  }
}

show()
`
