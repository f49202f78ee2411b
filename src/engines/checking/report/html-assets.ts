export const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
h1 { border-left: .5rem solid #2e7d32; padding-left: 1rem }
h1.error { border-color: #c62828 } h1.warning { border-color: #b26a00 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #8886 }
td p { margin: 0 0 .2rem }
.number { text-align: right; white-space: nowrap }
td.error { color: #c62828; font-weight: 600 } td.warning { color: #b26a00; font-weight: 600 }
@media (prefers-color-scheme: dark) { td.error { color: #ef9a9a } td.warning { color: #ffcc80 } }
input, button { font: inherit }
#search { box-sizing: border-box; width: 20rem; max-width: 100% }
button.choose { border: 0; background: none; color: inherit; text-decoration: underline; padding: 0; cursor: pointer; white-space: nowrap }
.example { color: #666 }
@media (prefers-color-scheme: dark) { .example { color: #aaa } }
summary { cursor: pointer; padding: .4rem 0 } summary h2 { display: inline }
@media (max-width: 45rem) {
  thead { display: none }
  tr { display: flex; flex-wrap: wrap; column-gap: .8rem; padding: .4rem 0; border-bottom: 1px solid #8886 }
  td { border: 0; padding: 0; overflow-wrap: anywhere }
  td:last-child { flex-basis: 100% }
  button.choose { white-space: normal; overflow-wrap: anywhere; text-align: left }
  .number:empty { display: none }
  .number::after { content: ' ' attr(data-unit) }
}
article { border-bottom: 1px solid #8886; padding: .5rem 0 }
article p { margin: 0 }
h3 { font-size: 1rem; margin: 1.5rem 0 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; font-size: .85rem }
`

/** Shows the records in pages. Values are set as text, never as HTML. */
export const SCRIPT = `
'use strict'
const all = JSON.parse(document.getElementById('data').textContent)
const byId = (id) => document.getElementById(id)
const SIZE = 50
let code = '', cause = -1, words = [], page = 0
function matching() {
  return all.filter((row) => (code === '' || row[0] === code) && (cause === -1 || row[9] === cause) &&
    (words.length === 0 || words.every((word) => row.join(' ').toLowerCase().includes(word))))
}
function add(parent, name, text) {
  const element = document.createElement(name)
  element.textContent = text
  parent.append(element)
  return element
}
function show() {
  const rows = matching()
  const pages = Math.max(1, Math.ceil(rows.length / SIZE))
  page = Math.min(page, pages - 1)
  byId('shown').textContent = rows.length.toLocaleString('en-NZ') + (rows.length === 1 ? ' finding' : ' findings') + (code === '' ? '' : ' of ' + code) + (cause === -1 ? '' : ' of one cause')
  byId('page').textContent = 'Page ' + (page + 1) + ' of ' + pages
  byId('previous').disabled = page === 0
  byId('next').disabled = page === pages - 1
  const list = byId('list')
  list.replaceChildren()
  let heading = -1
  for (const [id, type, text, file, line, student, course, record, standing, number] of rows.slice(page * SIZE, page * SIZE + SIZE)) {
    if (number !== heading) add(list, 'h3', byId('cause-' + number)?.textContent ?? '')
    heading = number
    const article = add(list, 'article', '')
    const place = [id, type, file + ':' + line, student && 'learner ' + student, course && 'course ' + course, standing]
    add(article, 'p', place.filter(Boolean).join(' · '))
    add(article, 'p', text)
    if (record !== '') add(article, 'pre', record)
  }
}
byId('search').addEventListener('input', (event) => {
  words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean)
  page = 0
  show()
})
function choose(chosenCode, chosenCause) {
  code = chosenCode
  cause = chosenCause
  page = 0
  show()
}
byId('all').addEventListener('click', () => choose('', -1))
function turn(by) {
  page += by
  show()
  byId('records').scrollIntoView()
}
byId('previous').addEventListener('click', () => turn(-1))
byId('next').addEventListener('click', () => turn(1))
for (const button of document.querySelectorAll('button.choose')) button.addEventListener('click', () => {
  choose(button.dataset.code ?? '', Number(button.dataset.cause ?? -1))
  byId('records').scrollIntoView()
})
byId('records').hidden = all.length === 0
show()
`
