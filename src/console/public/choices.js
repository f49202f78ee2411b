/**
 * In a row of radio buttons, the keys 1, 2 and 3 choose, 0 chooses none, and a marks the choice of the row as reviewed;
 * the focus then moves to the next row. c leads to the field for another code.
 */
export function attachChoices(table) {
  const fieldOf = (row, name) => row.querySelector(`input[name^="${name}-"]`)
  table.addEventListener('change', ({ target }) => {
    const reviewed = fieldOf(target.closest('tr'), 'reviewed')
    if (reviewed && target !== reviewed) reviewed.checked = true
  })
  table.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input[name^="other-"]'))
      return
    const row = event.target.closest('tr')
    const other = fieldOf(row, 'other')
    if (event.key.toLowerCase() === 'c' && other) {
      event.preventDefault()
      return other.focus()
    }
    const reviewed = fieldOf(row, 'reviewed')
    const accepts = event.key.toLowerCase() === 'a' && reviewed
    if (!/^[0-3]$/.test(event.key) && !accepts) return
    const radios = [...row.querySelectorAll('input[type="radio"]')]
    // The last one says that none fits; a row can have fewer than three others.
    const none = radios.pop()
    const radio = accepts
      ? [...radios, none].find(({ checked }) => checked)
      : event.key === '0'
        ? none
        : radios[Number(event.key) - 1]
    if (!radio) return
    event.preventDefault()
    radio.checked = true
    if (reviewed) reviewed.checked = true
    const next = row.nextElementSibling?.querySelector('input[type="radio"]:checked, input[type="radio"]')
    ;(next ?? radio).focus()
  })
}
