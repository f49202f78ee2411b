import { inspect, recognise, refuse } from './look-into.js'

/**
 * Lists what is dropped or chosen: each file, each file of an archive and each sheet of a workbook, with what it
 * probably is. Nothing is sent before the place of everything is known; each upload has its own outcome.
 */
for (const form of document.querySelectorAll('form[data-upload]')) attachUpload(form)

function attachUpload(form) {
  const kinds = JSON.parse(form.dataset.kinds)
  const input = form.querySelector('input[type="file"]')
  const table = form.querySelector('[data-found]')
  const status = form.querySelector('[data-text]')
  const bar = form.querySelector('progress')
  const button = form.querySelector('button[type="submit"]')
  const checkNow = document.querySelector('#check button')
  const checksThen = form.querySelector('[data-switch]')
  const items = []
  const leaveOut = action('', () => {
    for (const { select } of items) if (select?.value === '') select.value = '-'
    review()
  })
  status.after(leaveOut)
  const kept = new Set(form.dataset.stored.split(' '))
  let sending = false
  // Without this script, one file is chosen and sent at a time, and the user starts the check.
  form.querySelector('[data-how]').textContent = 'Drop files anywhere on this page, or choose them'
  checksThen.closest('[hidden]').hidden = false
  form.querySelector('select').closest('label').remove()
  Object.assign(input, { multiple: true, required: false })
  review()
  // Leaving the page would stop the upload of the remaining files.
  addEventListener('beforeunload', (event) => {
    if (sending) event.preventDefault()
  })

  for (const type of ['dragover', 'dragleave', 'drop']) {
    document.addEventListener(type, (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      form.classList.toggle('over', type === 'dragover')
    })
  }
  document.addEventListener('drop', (event) => add([...(event.dataTransfer?.files ?? [])]))
  input.addEventListener('change', () => {
    add([...input.files])
    // The same file can be chosen again once it has been corrected.
    input.value = ''
  })

  async function add(files) {
    for (const file of files) {
      status.textContent = `Looking into ${file.name} …`
      const found = await inspect(file, kinds).catch(() => [
        refuse(file.name, 'It cannot be opened. Choose it again.'),
      ])
      for (const item of found) show(Object.assign(item, { file }))
    }
    review()
  }

  function show(item) {
    items.push(item)
    item.row = table.tBodies[0].insertRow()
    const head = document.createElement('th')
    head.scope = 'row'
    head.append(item.name, ...(item.notes ?? []).map((text) => block('div', 'note', text)))
    const records = block('td', 'number', item.records?.toLocaleString('en-NZ') ?? '')
    const place = document.createElement('td')
    item.outcome = block('td', '', item.problem === undefined ? '' : `Cannot be sent. ${item.problem}`)
    item.row.append(head, records, place, item.outcome)
    const labels = ['Records', 'What it is', 'Outcome']
    for (const [at, name] of labels.entries()) item.row.cells[at + 1].dataset.label = name
    if (item.problem !== undefined) return
    item.select = document.createElement('select')
    item.select.setAttribute('aria-label', `What ${item.name} is`)
    const all = item.isWhole ? [new Option('All files in it, by their names', '*')] : []
    const options = kinds.map(({ file, title }) => new Option(title, file))
    item.select.append(
      new Option('Choose …', ''),
      ...all,
      ...options,
      new Option('Not part of this return', '-'),
    )
    item.select.value = item.isWhole ? '*' : recognise(item, kinds)
    item.select.addEventListener('change', () => {
      item.refusal = undefined
      review()
    })
    place.append(item.select)
  }

  /** What can be sent now, and what must be decided before. */
  function review() {
    const open = items.filter(({ select }) => select && !select.disabled)
    const sent = open.filter(({ select }) => select.value !== '-')
    const undecided = sent.filter(({ select }) => select.value === '')
    const pairs = kinds
      .map((kind) => ({ ...kind, of: sent.filter(({ select }) => select.value === kind.file) }))
      .filter(({ of }) => of.length > 1)
    for (const item of sending ? [] : open) {
      if (item.parts === undefined || item.refusal) tell(item, item.refusal ?? '', 'error')
      else tell(item, `${item.parts.map(({ name }) => name).join(', ')} are one file. `)
      if (item.parts !== undefined) item.outcome.append(action('Take them apart', () => takeApart(item)))
    }
    for (const { of, title } of sending ? [] : pairs)
      for (const item of of) {
        tell(item, `${of.length} are ${title}. `, 'error')
        item.outcome.append(action('Only this one', () => choose(item, of)))
        if (item === of[0] && canJoin(of)) item.outcome.append(action('Join them', () => join(of)))
      }
    leaveOut.hidden = sending || undecided.length < 2
    leaveOut.textContent = `Leave out these ${undecided.length}`
    table.hidden = items.length === 0
    if (checkNow) checkNow.disabled = sending
    button.disabled = sending || sent.length === 0 || undecided.length > 0 || pairs.length > 0
    button.textContent = sent.length > 1 ? `Send ${sent.length} files` : 'Send the file'
    if (items.length > 0 && !sending)
      status.textContent =
        undecided.length > 0
          ? list(undecided.length === 1 ? 'Choose what it is' : 'Choose what each is', undecided)
          : pairs.length > 0
            ? `Only one file of a kind can be sent: ${pairs.map(({ title }) => title).join(', ')}.`
            : sent.length > 0
              ? list('Not sent yet', sent)
              : 'There is nothing to send.'
    return sent
  }

  function choose(chosen, of) {
    for (const item of of) if (item !== chosen) item.select.value = '-'
    review()
  }

  function join(of) {
    const [first, ...rest] = of
    first.parts = of
    first.content = async () => {
      const texts = await Promise.all(of.map(readText))
      return new Blob(texts.flatMap((text, at) => [at === 0 ? text : text.slice(of[at].header.length), '\n']))
    }
    for (const other of rest) {
      Object.assign(other.select, { value: '-', disabled: true })
      tell(other, `Joined to ${first.name}.`)
    }
    showRecords(first, of)
    review()
  }

  function takeApart(first) {
    for (const { select } of first.parts)
      Object.assign(select, { value: first.select.value, disabled: false })
    showRecords(first, [first])
    first.parts = undefined
    first.content = undefined
    review()
  }

  /** Takes out the files of an upload that have changed since they were chosen: a browser no longer reads them. */
  async function takeOutChanged(item) {
    const parts = item.parts ?? [item]
    const readings = await Promise.allSettled(parts.map(({ file }) => file.slice(0, 1).arrayBuffer()))
    const changed = parts.filter((_, at) => readings[at].status === 'rejected')
    if (changed.length > 0 && item.parts !== undefined) takeApart(item)
    for (const each of changed) {
      each.select.remove()
      each.select = undefined
      tell(each, 'Not sent: It has changed since it was chosen. Choose it again.', 'error')
    }
    return changed
  }

  /** Sends a file; if another sign-in has begun a new session, with the token that its pages have. */
  async function send(item, onProgress) {
    const place = item.select.value === '*' ? '' : `/${item.select.value}`
    const url = form.dataset.put.replace('FILE', place)
    const result = await put(form, url, item, onProgress)
    if (result.type !== 'other-session') return result
    const page = await readPage()
    form.elements['form-token'].value = page?.querySelector('[name="form-token"]')?.value ?? ''
    return await put(form, url, item, onProgress)
  }

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    sending = true
    const sent = review()
    const changed = []
    let hasEnded = false
    bar.hidden = false
    bar.value = 0
    bar.max = sent.length
    for (const [at, item] of sent.entries()) {
      status.textContent = `Sending ${item.name} …`
      tell(item, 'Sending …')
      const result = await send(item, (part) => {
        bar.value = at + part
      })
      hasEnded = result.type === 'session-ended'
      if (hasEnded) break
      const known = changed.length
      if (result.isLost) changed.push(...(await takeOutChanged(item)))
      if (changed.length > known) continue
      item.stored = result.ok
      item.select.disabled = result.ok
      for (const file of result.files) kept.add(file)
      item.isLost = result.isLost
      item.refusal = result.ok ? undefined : `${result.isLost ? 'Not sent' : 'Refused'}: ${result.problem}`
      tell(item, item.refusal ?? 'Stored.', result.ok ? 'good' : 'error')
    }
    sending = false
    bar.hidden = true
    const left = review()
    const stored = sent.filter((item) => item.stored)
    if (stored.length > 0 && left.length > 0) await showState()
    if (left.some(({ refusal }) => refusal) || hasEnded || changed.length > 0) {
      const refused = left.filter(({ refusal, isLost }) => refusal && !isLost)
      const waiting = left.filter((item) => !refused.includes(item))
      status.textContent = [
        list('Refused', refused),
        list('Stored', stored),
        list('Not sent yet', waiting),
        list('Choose again', changed),
      ]
        .filter((each) => each !== '')
        .join(' ')
      if (hasEnded) {
        const link = block('a', '', 'Sign in')
        Object.assign(link, { href: location.href, target: '_blank' })
        status.prepend('Your session has ended. ', link, ' in another tab, then send the files here. ')
      }
      return
    }
    // Others were added meanwhile.
    if (left.length > 0) return
    if (!checksThen.checked || !kinds.every(({ file }) => kept.has(file)))
      return location.assign(form.dataset.then)
    status.textContent = 'All files are stored. Checking them …'
    document.getElementById('check').requestSubmit()
  })
}

/** This page as it is now; `null` if the connection fails. */
const readPage = () =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest()
    // Parses the page without running anything in it, which the policy allows.
    request.responseType = 'document'
    request.open('GET', location.href)
    request.addEventListener('loadend', () => resolve(request.response))
    request.send()
  })

/** Shows what is stored now; nothing if that cannot be read. */
async function showState() {
  const now = (await readPage())?.querySelector('[data-state]')?.childNodes ?? []
  document.querySelector('[data-state]').replaceChildren(...now)
}

const list = (what, items) =>
  items.length === 0 ? '' : `${what}: ${items.map((item) => item.name).join(', ')}.`

function tell({ outcome }, text, style = '') {
  outcome.textContent = text
  outcome.className = style
}

function block(name, style, text) {
  const element = document.createElement(name)
  element.className = style
  element.textContent = text
  return element
}

function action(text, act) {
  const button = block('button', 'quiet', text)
  button.type = 'button'
  button.addEventListener('click', act)
  return button
}

function showRecords({ row }, items) {
  row.cells[1].textContent = items.reduce((sum, { records }) => sum + records, 0).toLocaleString('en-NZ')
}

/** Whether files are parts of one: their headers are equal, and no two are the same. */
const canJoin = (items) =>
  items.every(({ header }) => header !== undefined && header === items[0].header) &&
  new Set(items.map(({ sum }) => sum)).size === items.length

const readText = async ({ blob, charset }) => new TextDecoder(charset).decode(await blob.arrayBuffer())

const LOST = { ok: false, isLost: true, problem: 'The connection failed. Send it again.', files: [] }

async function put(form, url, { blob, content, type, encoding }, onProgress) {
  const body = content === undefined ? blob : await content().catch(() => undefined)
  if (body === undefined) return LOST
  return await new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('PUT', url)
    request.setRequestHeader('accept', 'application/json')
    request.setRequestHeader('x-form-token', form.elements['form-token'].value)
    request.setRequestHeader('content-type', type)
    if (encoding) request.setRequestHeader('content-encoding', encoding)
    // What is no JSON is null.
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded / Math.max(1, body.size)))
    request.addEventListener('load', () => {
      const {
        type,
        detail = 'The service did not say why.',
        file,
        files = [{ file }],
      } = request.response ?? {}
      resolve({ ok: request.status < 300, type, problem: detail, files: files.map((each) => each.file) })
    })
    request.addEventListener('error', () => resolve(LOST))
    request.send(body)
  })
}
