// A combobox with a list of suggestions, after the ARIA Authoring Practices (editable combobox, list autocomplete).

let made = 0

/** Offers suggestions below a search box while somebody types. */
export function attachCombobox(input) {
  const list = document.createElement('ul')
  list.id = `suggestions-${++made}`
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', 'Suggestions')
  list.hidden = true
  input.after(list)
  input.setAttribute('role', 'combobox')
  input.setAttribute('aria-autocomplete', 'list')
  input.setAttribute('aria-controls', list.id)
  input.setAttribute('aria-expanded', 'false')
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
    // A later keystroke has asked again.
    if (turn !== asked || !response.ok) return
    const { suggestions } = await response.json()
    list.replaceChildren(
      ...suggestions.map(({ text, occupationCode, language }, index) => {
        const option = document.createElement('li')
        option.id = `${list.id}-${index}`
        option.setAttribute('role', 'option')
        option.setAttribute('aria-selected', 'false')
        if (language === 'mi') option.lang = 'mi'
        option.dataset.code = occupationCode
        option.textContent = text
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
