/** Uploads the files of a form one by one, with progress; files can be dropped anywhere on the page. */
export function attachUpload(form) {
  const container = form.querySelector('input[data-container]')
  const inputs = [...form.querySelectorAll('input[type="file"]:not([data-container])')]
  const status = form.querySelector('[data-text]')
  const bar = form.querySelector('progress')
  const checksThen = form.querySelector('[data-switch]')
  // Without this script, the check does not start by itself.
  checksThen.closest('[hidden]').hidden = false

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
      const known = inputs.find((each) => matches(file.name, each))
      const input = known ?? (/\.(?:zip|xls[xm])$/i.test(file.name) ? container : undefined)
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
    // An archive first: a file that was chosen separately replaces the one in it.
    const chosen = [container, ...inputs].filter((input) => input.files.length > 0)
    if (chosen.length === 0) return
    event.preventDefault()
    for (const button of form.querySelectorAll('button')) button.disabled = true
    bar.hidden = false
    bar.max = chosen.reduce((sum, { files }) => sum + files[0].size, 0)
    let sent = 0
    for (const input of chosen) {
      const [file] = input.files
      status.textContent = `Sending ${file.name} …`
      const { ok, problem, files } = await send(form, input.dataset.put, file, (bytes) => {
        bar.value = sent + bytes
      })
      if (!ok) {
        status.textContent = `${file.name} was not accepted. ${problem}`
        bar.hidden = true
        bar.value = 0
        for (const button of form.querySelectorAll('button')) button.disabled = false
        return
      }
      for (const each of inputs) if (files.includes(each.name)) each.dataset.received = 'yes'
      sent += file.size
    }
    const isComplete = inputs.every((input) => input.dataset.received === 'yes')
    if (!isComplete || !checksThen.checked) return location.assign(form.dataset.then)
    status.textContent = 'All files have arrived. Checking them …'
    document.getElementById('check').requestSubmit()
  })
}

/** Whether a file belongs to an input: by the name of its file type, or by the names in the definition. */
function matches(name, input) {
  const base = plain(name.toLowerCase().replace(/\.(csv|tsv|ndjson|txt|zip|xls[xm])(\.gz)?$/, ''))
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
      /\.ndjson/i.test(file.name)
        ? 'application/x-ndjson'
        : /\.(?:zip|xls[xm])$/i.test(file.name)
          ? 'application/octet-stream'
          : 'text/csv',
    )
    if (/\.gz$/i.test(file.name)) request.setRequestHeader('content-encoding', 'gzip')
    request.upload.addEventListener('progress', (event) => onProgress(event.loaded))
    request.addEventListener('load', () => {
      const {
        detail = 'The service did not say why.',
        file,
        files = [{ file }],
      } = readBody(request.responseText)
      resolve({ ok: request.status < 300, problem: detail, files: files.map((each) => each.file) })
    })
    request.addEventListener('error', () =>
      resolve({ ok: false, problem: 'The connection failed. Send the files again.', files: [] }),
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
