/**
 * The queue of titles. In a row, the keys 1, 2 and 3 choose, 0 chooses none, and a marks the choice of the row as
 * reviewed; the focus then moves to the next row. c leads to the field for another code. Each change is stored at once.
 */
for (const form of document.querySelectorAll('form[data-save]')) attachChoices(form)

function attachChoices(form) {
  const fieldOf = (row, name) => row.querySelector(`input[name^="${name}-"]`)
  const status = document.querySelector('[data-saved]')
  status.textContent = 'at once'
  document.querySelector('[data-keys]').hidden = false
  /** What is being stored of each row: two changes of one row arrive in their order. */
  const saving = new Map()

  async function save(row) {
    const fields = [...row.querySelectorAll('input')].filter(
      ({ type, checked }) => type === 'text' || checked,
    )
    const body = new URLSearchParams(fields.map(({ name, value }) => [name, value]))
    body.set('form-token', form.elements['form-token'].value)
    const response = await fetch(form.action, {
      method: 'POST',
      body,
      headers: { accept: 'application/json' },
      // Also if the person leaves the page meanwhile.
      keepalive: true,
    })
    const { detail, verdict } = await response.json()
    if (verdict !== undefined) document.querySelector('[data-verdict]').textContent = verdict
    status.textContent =
      detail === undefined ? 'at once' : `when you save, because the last choice was not: ${detail}`
  }

  form.addEventListener('change', ({ target }) => {
    if (target.name === 'threshold') return form.requestSubmit()
    const row = target.closest('tr')
    const reviewed = fieldOf(row, 'reviewed')
    if (reviewed && target !== reviewed) reviewed.checked = true
    const store = () =>
      save(row).catch(() => {
        status.textContent = 'when you save, because the connection failed'
      })
    const earlier = saving.get(row)
    saving.set(row, earlier === undefined ? store() : earlier.then(store))
  })
  form.addEventListener('keydown', (event) => {
    const row = event.target.closest('tr')
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target.matches('input[name^="other-"]')) return
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
    radio.dispatchEvent(new Event('change', { bubbles: true }))
    // A title without candidates leaves nothing to choose.
    let next = row.nextElementSibling
    while (next && !next.querySelector('input[type="radio"]')) next = next.nextElementSibling
    const choices = next ?? row
    choices.querySelector('input[type="radio"]:checked, input[type="radio"]').focus()
  })
}
