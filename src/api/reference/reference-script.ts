/** Runs in the browser: sends the requests of the forms and shows the responses and the curl commands. */
export const SCRIPT = `'use strict'
/** The most characters of a response that are shown. */
const MOST = 200000

const key = document.getElementById('key')
document.querySelector('[data-key]').hidden = false

for (const each of document.querySelectorAll('[data-folded]')) each.open = matchMedia('(min-width: 40rem)').matches

/** A link to a section opens its parts. */
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  for (const each of target?.querySelectorAll('[data-folded]') ?? []) each.open = true
  target?.scrollIntoView()
}
addEventListener('hashchange', unfold)
if (location.hash !== '') unfold()

for (const form of document.querySelectorAll('form[data-path]')) {
  form.hidden = false
  const curl = form.parentElement.querySelector('[data-curl]')
  const show = () => { curl.textContent = describe(read(form)) }
  form.addEventListener('input', show)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    send(form)
  })
  show()
}

/** The request that the fields of a form describe. */
function read(form) {
  let path = form.dataset.path
  const query = new URLSearchParams()
  const headers = {}
  for (const field of form.querySelectorAll('[data-in]')) {
    const { name, value } = field
    if (field.dataset.in === 'path') path = path.replace('{' + name + '}', value === '' ? '{' + name + '}' : encodeURIComponent(value))
    else if (value === '') continue
    else if (field.dataset.in === 'query') query.append(name, value)
    else headers[name] = value
  }
  const body = form.querySelector('[data-type]')
  if (body !== null && body.value !== '') headers['Content-Type'] = body.dataset.type
  return {
    method: form.dataset.method,
    path: query.size === 0 ? path : path + '?' + query,
    headers,
    body: body === null || body.value === '' ? undefined : body.value,
  }
}

/** Quotes a text for a shell. */
function quote(text) {
  return "'" + text.replaceAll("'", "'\\\\''") + "'"
}

function describe({ method, path, headers, body }) {
  const parts = ['curl']
  if (method !== 'GET') parts.push('-X', method)
  parts.push('-H "X-API-Key: $KEY"')
  for (const [name, value] of Object.entries(headers)) parts.push('-H', quote(name + ': ' + value))
  if (body !== undefined) parts.push('--data-binary', quote(body))
  parts.push(quote(location.origin + path))
  return parts.join(' ')
}

async function send(form) {
  const status = form.querySelector('[data-status]')
  const answer = form.querySelector('[data-answer]')
  const button = form.querySelector('button')
  const { method, path, headers, body } = read(form)
  if (key.value !== '') headers['X-API-Key'] = key.value
  button.disabled = true
  answer.hidden = true
  status.textContent = 'Sending …'
  try {
    const response = await fetch(path, { method, headers, body, cache: 'no-store' })
    const type = response.headers.get('content-type') || ''
    const bytes = await response.blob()
    status.textContent = 'Status ' + response.status + (type === '' ? '' : ', ' + type) + ', ' + bytes.size + ' bytes'
    if (bytes.size > 0) {
      answer.textContent = await readText(type, bytes)
      answer.hidden = false
    }
  } catch (error) {
    status.textContent = 'The request could not be sent: ' + error.message
  } finally {
    button.disabled = false
  }
}

async function readText(type, bytes) {
  if (!/json|text|csv/.test(type)) return 'The response is not text. Use the curl command to store it in a file.'
  const text = await bytes.text()
  if (text.length > MOST) return text.slice(0, MOST) + '\\n… The response is longer. Use the curl command.'
  try {
    return /json/.test(type) && !/ndjson/.test(type) ? JSON.stringify(JSON.parse(text), null, 2) : text
  } catch {
    return text
  }
}
`
