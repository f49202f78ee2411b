// Enhances pages that also work without scripts. Each part finds its own elements.

for (const form of document.querySelectorAll('form[data-submit="now"]')) form.requestSubmit()
for (const input of document.querySelectorAll('input[data-suggest]')) attachCombobox(input)

// Submits filter forms as soon as a choice changes, and filters while the user types.
for (const form of document.querySelectorAll('form[data-live]')) {
  form.addEventListener('change', (event) => {
    if (event.target.matches('select, input[type="checkbox"]')) form.requestSubmit()
  })
  let pause
  form.addEventListener('input', (event) => {
    clearTimeout(pause)
    if (event.target.matches('input:not([type="checkbox"])')) pause = setTimeout(() => filter(form), 300)
  })
}

let filtered

/** Replaces the results by those of the form's current values, without moving the focus. */
function filter(form) {
  const url = `${form.action}?${new URLSearchParams(new FormData(form))}`
  filtered?.abort()
  filtered = new XMLHttpRequest()
  // Parses the page without running anything in it, which the policy allows.
  filtered.responseType = 'document'
  filtered.open('GET', url)
  filtered.addEventListener('load', ({ target: { status, response } }) => {
    // The page of an error says what is wrong.
    if (status !== 200) return form.requestSubmit()
    const results = response.querySelectorAll('[data-results]')
    // Their elements stay, so that screen readers announce the new count.
    for (const [index, element] of document.querySelectorAll('[data-results]').entries()) {
      element.replaceChildren(...(results[index]?.childNodes ?? []))
    }
    history.replaceState(null, '', url)
  })
  filtered.send()
}

// Text that can be copied gets a button, where the browser allows it.
for (const text of document.querySelectorAll('pre[data-copy]')) {
  if (!navigator.clipboard) break
  const button = document.createElement('button')
  Object.assign(button, { type: 'button', className: 'quiet no-print', textContent: text.dataset.copy })
  const status = Object.assign(document.createElement('span'), { role: 'status' })
  button.addEventListener('click', async () => {
    const copied = navigator.clipboard.writeText(text.textContent)
    status.textContent = await copied.then(
      () => ' Copied.',
      () => ' The browser does not allow copying. Select the text instead.',
    )
  })
  text.after(button, status)
}

// Replaces part of a page with the current state until the work has ended.
const following = document.querySelector('[data-follow]')
if (following) follow(following)

async function follow(element) {
  for (;;) {
    const response = await fetch(element.dataset.follow, { headers: { accept: 'application/json' } })
    if (!response.ok) return location.reload()
    const { state, text, done, total, files = [], clears = [] } = await response.json()
    element.querySelector('[data-text]').textContent = text
    for (const each of files) element.querySelector(`[data-file="${each.file}"]`)?.replaceChildren(each.text)
    for (const mark of document.querySelectorAll('[data-clears]'))
      mark.hidden = !clears.includes(mark.dataset.clears)
    const bar = element.querySelector('progress')
    if (bar && done !== undefined && total) Object.assign(bar, { value: done, max: total })
    if (state === 'Processed') return element.dataset.done && location.assign(element.dataset.done)
    if (state !== 'Queued' && state !== 'InProgress') return location.reload()
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

// A combobox with a list of suggestions, after the ARIA Authoring Practices (editable combobox, list autocomplete).

/** The parts of a text, those between the pairs of positions marked. */
function mark(text, ranges) {
  const parts = []
  let last = 0
  for (const [from, to] of ranges) {
    const marked = document.createElement('mark')
    marked.textContent = text.slice(from, to)
    parts.push(text.slice(last, from), marked)
    last = to
  }
  return [...parts, text.slice(last)]
}

/** Offers suggestions below a search box while the user types. */
function attachCombobox(input) {
  const list = document.createElement('ul')
  Object.assign(list, { id: 'suggestions', role: 'listbox', ariaLabel: 'Suggestions', hidden: true })
  input.after(list)
  Object.assign(input, { role: 'combobox', ariaAutoComplete: 'list', ariaExpanded: 'false' })
  input.setAttribute('aria-controls', list.id)
  let chosen = -1
  let asked = 0

  const options = () => [...list.children]
  const close = () => {
    list.hidden = true
    chosen = -1
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }
  const choose = (index) => {
    chosen = index
    for (const [at, option] of options().entries()) option.setAttribute('aria-selected', String(at === index))
    const option = options()[index]
    if (option) {
      input.setAttribute('aria-activedescendant', option.id)
      option.scrollIntoView({ block: 'nearest' })
    } else input.removeAttribute('aria-activedescendant')
  }
  const open = (option) => {
    location.href = `/console/occupations/${encodeURIComponent(option.dataset.code)}`
  }

  input.addEventListener('input', async () => {
    const words = input.value.trim()
    const turn = ++asked
    if (words.length < 2) return close()
    const response = await fetch(`${input.dataset.suggest}?q=${encodeURIComponent(words)}`, {
      headers: { accept: 'application/json' },
    })
    // A later keystroke has sent another request.
    if (turn !== asked || !response.ok) return
    const { suggestions } = await response.json()
    list.replaceChildren(
      ...suggestions.map(({ text, occupationCode, titleEnglish, language, highlights }, index) => {
        const option = document.createElement('li')
        Object.assign(option, { id: `${list.id}-${index}`, role: 'option', ariaSelected: 'false' })
        option.dataset.code = occupationCode
        const name = document.createElement('span')
        if (language === 'mi') name.lang = 'mi'
        name.append(...mark(text, highlights))
        option.append(name)
        // Another name, or one in te reo Māori, does not say which occupation it leads to.
        if (titleEnglish !== undefined && titleEnglish !== text) {
          const more = { className: 'soft', textContent: ` ${titleEnglish}` }
          option.append(Object.assign(document.createElement('span'), more))
        }
        option.addEventListener('mousedown', (event) => {
          event.preventDefault()
          open(option)
        })
        return option
      }),
    )
    chosen = -1
    list.hidden = suggestions.length === 0
    input.setAttribute('aria-expanded', String(suggestions.length > 0))
  })

  input.addEventListener('keydown', (event) => {
    const last = options().length - 1
    if (list.hidden || last < 0) return
    if (event.key === 'ArrowDown') choose(chosen >= last ? 0 : chosen + 1)
    else if (event.key === 'ArrowUp') choose(chosen <= 0 ? last : chosen - 1)
    else if (event.key === 'Escape') close()
    else if (event.key === 'Enter' && chosen >= 0) open(options()[chosen])
    else return
    event.preventDefault()
  })
  input.addEventListener('blur', close)
}
