/**
 * In a row of radio buttons, the keys 1, 2 and 3 choose, and 0 chooses none; the focus then moves to the next row.
 */
export function attachChoices(table) {
  table.addEventListener('keydown', (event) => {
    if (!/^[0-3]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return
    const row = event.target.closest('tr')
    const radios = [...row.querySelectorAll('input[type="radio"]')]
    const radio = event.key === '0' ? radios.at(-1) : radios[Number(event.key) - 1]
    if (!radio) return
    event.preventDefault()
    radio.checked = true
    const next = row.nextElementSibling?.querySelector('input[type="radio"]:checked, input[type="radio"]')
    ;(next ?? radio).focus()
  })
}
