/** Uploads the files of a form one by one, with progress; files can be dropped anywhere on the page. */
export function attachUpload(form) {
  const inputs = [...form.querySelectorAll('input[type="file"]')]
  const status = form.querySelector('[data-text]')
  const notes = form.querySelector('[data-notes]')
  const bar = form.querySelector('progress')

  for (const type of ['dragover', 'dragleave', 'drop']) {
    document.addEventListener(type, (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      form.classList.toggle('over', type === 'dragover')
    })
  }
  document.addEventListener('drop', (event) => {
    const unknown = []
    for (const file of event.dataTransfer?.files ?? []) {
      const input = inputs.find((each) => matches(file.name, each))
      if (!input) {
        unknown.push(file.name)
        continue
      }
      const transfer = new DataTransfer()
      transfer.items.add(file)
      input.files = transfer.files
    }
    if (unknown.length > 0)
      status.textContent = `Not recognised by name: ${unknown.join(', ')}. Choose these files in the list.`
    else form.requestSubmit()
  })

  form.addEventListener('submit', async (event) => {
    const chosen = inputs.filter((input) => input.files.length > 0)
    if (chosen.length === 0) return
    event.preventDefault()
    for (const button of form.querySelectorAll('button')) button.disabled = true
    bar.hidden = false
    bar.max = chosen.reduce((sum, { files }) => sum + files[0].size, 0)
    notes.replaceChildren()
    let sent = 0
    for (const input of chosen) {
      const [file] = input.files
      status.textContent = `Sending ${file.name} …`
      const { ok, problem, guessed } = await send(form, input.dataset.put, file, (bytes) => {
        bar.value = sent + bytes
      })
      if (!ok) {
        status.textContent = `${file.name} was not accepted. ${problem}`
        for (const button of form.querySelectorAll('button')) button.disabled = false
        return
      }
      for (const note of guessed) notes.append(toItem(`${file.name}: ${note}`))
      input.dataset.received = 'yes'
      sent += file.size
    }
    const isComplete = inputs.every((input) => input.dataset.received === 'yes')
    if (!isComplete || !form.querySelector('[data-switch]').checked) return location.assign(form.dataset.then)
    status.textContent = 'All files have arrived. Checking them …'
    document.getElementById('check').requestSubmit()
  })
}

function toItem(text) {
  const item = document.createElement('li')
  item.textContent = text
  return item
}

/** Whether a file belongs to an input: by the name of its file type, or by the names in the definition. */
function matches(name, input) {
  const base = plain(name.toLowerCase().replace(/\.(csv|tsv|ndjson|txt)(\.gz)?$/, ''))
  return input.dataset.names.split(' ').some((known) => base.startsWith(plain(known)))
}

/** Spellings with spaces, hyphens and underscores are one name. */
const plain = (name) => name.replace(/[\s_-]+/g, '')

function send(form, url, file, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('PUT', url)
    request.setRequestHeader('accept', 'application/json')
    request.setRequestHeader('x-form-token', form.elements['form-token'].value)
    request.setRequestHeader(
      'content-type',
      /\.ndjson/i.test(file.name) ? 'application/x-ndjson' : 'text/csv',
    )
    if (/\.gz$/i.test(file.name)) request.setRequestHeader('content-encoding', 'gzip')
    request.upload.addEventListener('progress', (event) => onProgress(event.loaded))
    request.addEventListener('load', () => {
      const { detail = 'The service did not say why.', notes = [] } = readBody(request.responseText)
      resolve({ ok: request.status < 300, problem: detail, guessed: notes })
    })
    request.addEventListener('error', () =>
      resolve({ ok: false, problem: 'The connection failed. Send the files again.', guessed: [] }),
    )
    request.send(file)
  })
}

function readBody(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
