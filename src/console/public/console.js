// Additions to pages that work without them. Each part looks for its own elements.
import { attachChoices } from './choices.js'
import { attachCombobox } from './combobox.js'
import { attachUpload } from './upload.js'

for (const form of document.querySelectorAll('form[data-submit="now"]')) form.requestSubmit()
for (const input of document.querySelectorAll('input[data-suggest]')) attachCombobox(input)
for (const table of document.querySelectorAll('table[data-choices]')) attachChoices(table)
for (const form of document.querySelectorAll('form[data-upload]')) attachUpload(form)

// "/" moves to the search box, as on many sites; not while somebody types.
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, textarea, select, [contenteditable]')) return
  const search = document.querySelector('input[type="search"]')
  if (!search) return
  event.preventDefault()
  search.focus()
  search.select()
})

// A chosen file fills the text field that its input names.
for (const input of document.querySelectorAll('input[type="file"][data-fill]')) {
  input.addEventListener('change', async () => {
    const [file] = input.files
    if (!file) return
    const lines = (await file.text()).replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
    input.form.elements[input.dataset.fill].value = lines.map(firstCell).join('\n')
  })
}

/** The first cell of a line of CSV. */
function firstCell(line) {
  const quoted = /^\s*"((?:[^"]|"")*)"/.exec(line)
  return quoted ? quoted[1].replaceAll('""', '"') : line.split(/[,;\t]/, 1)[0].trim()
}

// Filters that show their result at once: the form is sent when a choice is made.
for (const form of document.querySelectorAll('form[data-live]')) {
  form.addEventListener('change', (event) => {
    if (event.target.matches('select')) form.requestSubmit()
  })
}

// A page about work that goes on replaces its part with the newest state, until it says that the work has ended.
const following = document.querySelector('[data-follow]')
if (following) follow(following)

async function follow(element) {
  for (;;) {
    const response = await fetch(element.dataset.follow, { headers: { accept: 'application/json' } })
    if (!response.ok) return location.reload()
    const { state, text, done, total } = await response.json()
    element.querySelector('[data-text]').textContent = text
    const bar = element.querySelector('progress')
    if (bar && done !== undefined && total) Object.assign(bar, { value: done, max: total })
    if (state !== 'Queued' && state !== 'InProgress') return location.reload()
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
