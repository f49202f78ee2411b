/** Uploads the files of a form one by one, with progress; files can also be dropped on the form. */
export function attachUpload(form) {
  const inputs = [...form.querySelectorAll('input[type="file"]')]
  const status = form.querySelector('[data-text]')
  const bar = form.querySelector('progress')

  for (const type of ['dragover', 'dragleave', 'drop']) {
    form.addEventListener(type, (event) => {
      event.preventDefault()
      form.classList.toggle('over', type === 'dragover')
    })
  }
  form.addEventListener('drop', (event) => {
    const unknown = []
    for (const file of event.dataTransfer.files) {
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
    else status.textContent = 'The files are in the list. Send them when it is complete.'
  })

  form.addEventListener('submit', async (event) => {
    const chosen = inputs.filter((input) => input.files.length > 0)
    if (chosen.length === 0) return
    event.preventDefault()
    for (const button of form.querySelectorAll('button')) button.disabled = true
    bar.hidden = false
    bar.max = chosen.reduce((sum, { files }) => sum + files[0].size, 0)
    let sent = 0
    for (const input of chosen) {
      const [file] = input.files
      status.textContent = `Sending ${file.name} …`
      const { ok, problem } = await send(form, input.dataset.put, file, (bytes) => {
        bar.value = sent + bytes
      })
      if (!ok) {
        status.textContent = `${file.name} was not accepted. ${problem}`
        for (const button of form.querySelectorAll('button')) button.disabled = false
        return
      }
      sent += file.size
    }
    status.textContent = 'All files have arrived. Checking them …'
    document.getElementById(form.dataset.then).requestSubmit()
  })
}

/** Whether a file belongs to an input: by the name of its file type, or by the names in the definition. */
function matches(name, input) {
  const base = name.toLowerCase().replace(/\.(csv|ndjson|txt)(\.gz)?$/, '')
  return input.dataset.names.split(' ').some((known) => base === known || base.startsWith(known))
}

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
      const ok = request.status < 300
      resolve({ ok, problem: ok ? '' : readDetail(request.responseText) })
    })
    request.addEventListener('error', () =>
      resolve({ ok: false, problem: 'The connection failed. Send the files again.' }),
    )
    request.send(file)
  })
}

function readDetail(text) {
  try {
    return JSON.parse(text).detail
  } catch {
    return 'The service did not say why.'
  }
}
