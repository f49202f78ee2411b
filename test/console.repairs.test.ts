import { expect, test } from 'vitest'
import { TOKEN_FIELD } from '../src/console/form-token.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { storeReturns } from '../src/submissions/returns/returns.ts'
import { untilHolds } from './support/command.ts'
import { ConsoleService, describeForm, tokenOf } from './support/console.ts'
import { define } from './support/definition.ts'
import { startWorker } from './support/submission-worker.ts'

const MEMBERS_ONLY = {
  members: {
    resource: { 'mahi:fileType': 'Learner' },
    fields: [{ name: 'member' }, { name: 'born', type: 'date' }],
  },
} as const

const MEMBERS = 'member,born\nM1,13/01/2001\nM2,14/01/2001\nM3,15/01/2001\n'

async function start(resources: Parameters<typeof define>[0] = MEMBERS_ONLY) {
  const definition = define(resources, { 'mahi:return': { default: '202512', pattern: '20[0-9]{4}' } })
  const console = await ConsoleService.start({ DEFINITIONS: definition, RATE_LIMIT_SUBMISSIONS: 'off' })
  const { service } = console
  const worker = await startWorker(service.database, [definition])
  const cookie = await console.signIn()
  const { key } = await service.createKey({
    client: 'exporter',
    scopes: ['submissions:write', 'validation-results:read'],
    eids: ['1001'],
  })
  const headers = { 'x-api-key': key, eid: '1001' }
  const token = await service.createSubmission(headers)
  const at = `/console/submissions/${token}`
  const put = async (content: string, file = 'members') => {
    const sent = { ...headers, 'content-type': 'text/csv' }
    const url = `/v1/submissions/${token}/files/${file}`
    expect(
      (await service.app.inject({ method: 'PUT', url, headers: sent, payload: content })).statusCode,
    ).toBe(200)
  }
  const show = async (path: string, query = 'eid=1001') =>
    (await service.app.inject({ url: `${at}${path}?${query}`, headers: { host: 'localhost', cookie } })).body
  const send = async (path: string, fields: Record<string, string> = {}) => {
    const form = describeForm({ eid: '1001', ...fields }, cookie)
    return await service.app.inject({ ...form, url: `${at}${path}` })
  }
  /** Sends a file without scripts. */
  const upload = async (name: string, content: string, kind = '*') => {
    const form = new FormData()
    form.append(TOKEN_FIELD, tokenOf(cookie))
    form.append('kind', kind)
    form.append('file', new Blob([content]), name)
    const sent = new Response(form)
    return await service.app.inject({
      method: 'POST',
      url: `${at}/files?eid=1001`,
      headers: {
        host: 'localhost',
        'sec-fetch-site': 'same-origin',
        'content-type': sent.headers.get('content-type') ?? '',
        cookie,
      },
      payload: Buffer.from(await sent.arrayBuffer()),
    })
  }
  const check = async () => {
    await send('/runs')
    const url = `/v1/submissions/${token}/validation-runs`
    const { results } = (await service.app.inject({ url, headers })).json()
    await service.app.inject({
      url: `${url}/${results[0].runId}`,
      headers: { ...headers, prefer: 'wait=30' },
    })
  }
  /** Waits until the repairs of the current files are found, as the page does only for a while. */
  const find = async () =>
    await untilHolds(async () => {
      const url = `/v1/submissions/${token}/repairs`
      const { body } = await service.app.inject({ url, headers: { ...headers, prefer: 'wait=30' } })
      expect(JSON.parse(body)).toHaveProperty('changes')
    })
  /** Applies what the page of the repairs offers. */
  const apply = async () => {
    const [, etag = ''] = /name="etag" value="([^"]*)"/.exec(await show('/repairs')) ?? []
    return await send('/repairs', { etag: etag.replaceAll('&quot;', '"') })
  }
  const again = () => service.createSubmission(headers)
  const list = async () =>
    (await service.app.inject({ url: '/console/submissions', headers: { host: 'localhost', cookie } })).body
  return { service, cookie, token, at, worker, again, list, put, show, send, upload, check, find, apply }
}

const textOf = (page: string) => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

test('the repairs that change most come first, and names of columns after values', async () => {
  const { put, show, find } = await start()
  await put(MEMBERS.replace('member', 'Member'))
  await find()
  expect(textOf(await show('/repairs'))).toMatch(/members born .* members member /)
})

test('people see what Mahi can repair, apply it, and undo it until the next upload; what comes too late says so', async () => {
  const { at, service, put, show, send, check, find } = await start()
  expect(textOf(await show('/files'))).toContain('Submit Not yet: no files')
  await put(MEMBERS)
  expect(textOf(await show('/files'))).toContain('Submit Not yet: not checked')
  await check()
  expect(textOf(await show('/files'))).toContain('Submit Not yet: 3 errors left')
  expect(textOf(await show('/findings'))).toMatch(/Mahi (?:looks for what it can|can) repair/)
  await find()

  const preview = await show('/repairs')
  expect(textOf(preview)).toMatch(/Mahi makes 3 changes\. 1 of 1 cause disappears, and none is left then\./)
  expect(textOf(preview)).toContain('members born 13/01/2001')
  // What cannot be changed says so, and offers nothing.
  const expire = (add: number) =>
    service.database.write('schema', (writer) =>
      writer.run('update submission set expires = expires + $1', [add]),
    )
  await expire(-1e12)
  const closed = await show('/repairs')
  expect(textOf(closed)).toMatch(
    /Mahi could make 3 changes\..* The submission can no longer be changed, so they cannot be applied\./,
  )
  expect(closed).not.toContain('Apply and check again')
  await expire(1e12)
  const causes = textOf(await show('/findings'))
  expect(causes).toMatch(/Mahi can repair 1 of these 1\..*Mahi can repair this/)
  const [, etag = ''] = /name="etag" value="([^"]*)"/.exec(preview) ?? []
  const apply = () => send('/repairs', { etag: etag.replaceAll('&quot;', '"') })
  const applied = await apply()
  expect([applied.statusCode, applied.headers.location]).toEqual([303, `${at}/check?eid=1001`])

  // The form of another person, or the same one again.
  const again = await apply()
  expect([again.statusCode, textOf(again.body)]).toEqual([
    412,
    expect.stringContaining('The files have changed since the preview. Look at it again.'),
  ])
  await find()
  expect(JSON.parse(await show('/repairs/progress'))).toMatchObject({
    text: 'Mahi can repair none of these.',
  })
  const empty = textOf(await show('/repairs'))
  expect(empty).toContain('Nothing has only one possible repair.')
  expect(empty).toContain('The files were repaired. You can undo that until the next upload.')
  await check()
  expect(textOf(await show('/activity'))).toMatch(
    /adviser Repaired members: 3 changes\. SHA-256 \w{8}… → \w{8}…/,
  )

  // Who sent a file stays who sent it.
  expect(textOf(await show('/files'))).toMatch(/exporter repaired by adviser, \d+ \w+ \d+,/)

  const undone = await send('/repairs/undo')
  expect(undone.headers.location).toBe(`${at}/files?eid=1001`)
  const restored = textOf(await show('/files'))
  expect(restored).toContain('Fix Not checked')
  expect(restored).not.toContain('repaired by')
  await apply()
  // How many values are left is not known: others of the column are as wrong.
  await put(`${MEMBERS}M4,01/17/2001\nM5,soon\n`)
  await find()
  expect(textOf(await show('/repairs'))).toContain(
    'members, born : Some dates of the column have the day first, and others the month.',
  )
  await put(MEMBERS)
  const late = await send('/repairs/undo')
  expect([late.statusCode, textOf(late.body)]).toEqual([
    409,
    expect.stringContaining(
      'There is no repair to undo: the files were not repaired, or they have changed or were submitted since.',
    ),
  ])
})

test('what is left to fix does not wait for what can be repaired, and nothing left needs no repair', async () => {
  const { worker, put, show, check, apply } = await start()
  await put(`${MEMBERS}M4,soon\n`)
  await check()
  await apply()
  await check()
  await worker.stop()
  const left = await show('/findings')
  expect(textOf(left)).toContain('Mahi looks for what it can repair.')
  expect(textOf(left)).toContain('You can undo that until the next upload.')
  // The script shows those marks that the preview names.
  expect(left).toMatch(/data-clears="column:members\.born:[^"]*" hidden/)
  expect(JSON.parse(await show('/repairs/progress'))).toMatchObject({ state: 'InProgress' })
})

test('a check without findings leads on, and to nothing else', async () => {
  const { put, show, check } = await start()
  for (const content of ['member,born\nM1,soon\n', 'member,born\nM1,2001-01-13\n']) {
    await put(content)
    await check()
  }
  const page = textOf(await show('/findings'))
  expect(page).toMatch(/No findings\. Nothing is left to fix\. Go on to submit/)
  expect(page).toContain('What was fixed since')
  expect(page).not.toMatch(/repair|Only findings/)
})

test('records are counted where they are: those of other files, and none of a file that is missing', async () => {
  const { put, show, check } = await start({
    members: { fields: [{ name: 'member' }], primaryKey: 'member' },
    visits: {
      fields: [{ name: 'visit' }, { name: 'member' }],
      foreignKeys: [{ fields: 'member', reference: { resource: 'members', fields: 'member' } }],
    },
    notes: { fields: [{ name: 'note' }] },
  })
  await put('member\n')
  await put('visit,member\nV1,M1\nV2,M2\n', 'visits')
  await check()
  const page = await show('/findings')
  expect(textOf(page)).toContain('Found in 2 records, such as visits.csv, line 2')
  // None of these files has learners.
  for (const shown of [page, await show('/findings/codes')]) expect(shown).not.toContain('"Learners"')
  for (const cause of page.match(/<tr><th scope="row" class="what">.*?<\/tr>/gs) ?? [])
    expect(cause).toContain('<td class="number" data-label="Records"></td>')
  const records = await show('/findings/records', 'cause=file%3Amembers%3Aempty')
  expect(records.match(/data-label="File">visits\.csv/g)).toHaveLength(2)
})

test('a record has no value, and no empty one, in a column of another file', async () => {
  const { put, show, check } = await start({
    ...MEMBERS_ONLY,
    visits: {
      resource: { 'mahi:fileType': 'Enrolment' },
      fields: [{ name: 'visit' }, { name: 'day', type: 'date' }],
    },
  })
  await put('member,born\nM1,x\n')
  await put('visit,day\nV1,y\n', 'visits')
  await check()
  const cells =
    (await show('/findings/records')).match(/<td [^>]*data-label="(?:born|day)">.*?<\/td>/gs) ?? []
  expect(cells.map((cell) => textOf(cell).trim())).toEqual(['Concerned: x', '', '', 'Concerned: y'])
})

test('what came too late says why, and whether the newest check read the files as they are', async () => {
  const { service, token, put, show, send, check, list } = await start()
  await put('member,born\nM1,2001-01-13\n')
  await check()
  const database = service.database
  const set = (sql: string) => database.write('schema', (writer) => writer.run(sql))
  expect(textOf(await show('/check'))).toContain('Go on to submit')
  expect(textOf(await show('/check'))).toContain('Submit Ready')
  await set('update submission set expires = 1')
  // What can no longer be submitted leads nowhere.
  expect(textOf(await show('/check'))).not.toContain('Go on to submit')
  const expired = textOf(await show('/submit'))
  expect(expired).toContain('This submission has expired and can no longer be submitted. Start a new one')
  expect(expired).toContain('Check Finished')
  await set('update submission set expires = 9999999999999')
  const past = Date.now() - 86_400_000
  const described = {
    returnId: '202512',
    name: 'December',
    definition: 'other',
    version: '1',
    type: 'Full',
  } as const
  const closeAt = (closes: number) =>
    storeReturns(database, [{ ...described, opens: 1, due: past, closes, zone: 'Pacific/Auckland' }])
  await closeAt(past)
  await set(`update file_version set received = ${Date.now() + 1000}`)
  // Whatever the zone of the return: every page has the times of the zone that its foot names.
  const due = async (page: Promise<string>) =>
    new RegExp(`datetime="${new Date(past).toISOString()}">(.*?)<`).exec(await page)?.[1]
  expect(await due(show('/submit'))).toMatch(/^\d+ \w+ \d{4}(?:, \d\d:\d\d)?$/)
  expect(await due(list())).toBe(await due(show('/submit')))
  const closed = textOf(await show('/submit'))
  expect(closed).toMatch(
    /The return closed \d+ \w+ \d{4}.*, and this submission was not submitted\. Ask the agency for a later closing date\./,
  )
  expect(closed).toContain(' Closed ')
  expect(closed).not.toMatch(/has expired|Start a new one|Expired/)
  expect(closed).toContain('Check Files changed')
  // It was submitted before: only the second time is missing.
  await closeAt(Date.now() + 86_400_000)
  await set('update file_version set received = 2')
  await check()
  await send('/submit')
  await send('/reopen', { token, reason: 'A member is missing.' })
  await closeAt(past)
  await set('update submission set reopened_until = 1, expires = 1')
  const again = textOf(await show('/submit'))
  expect(again).toContain('was not submitted again in the time for which it was reopened')
  expect(again).not.toContain('Reopened</span>')
  const listed = textOf(await list())
  expect(listed).toMatch(/Reopened until \d+ \w+ 19\d\d , not submitted again: A member is missing\./)
  expect(listed).not.toContain('Missed')
})

test('counts are of the files as they are, and a list of submissions without dates has no column for them', async () => {
  const { put, show, check, list, service } = await start()
  await put(MEMBERS)
  await check()
  const columns = (page: string) => [...page.matchAll(/<th scope="col"[^>]*>(.*?)<\/th>/gs)].length
  const before = await list()
  expect(textOf(before)).toMatch(/Return 202512 Has errors 3 0 \d/)
  expect([columns(before), before.includes('>Due<')]).toEqual([6, false])
  await put('member,born\nM1,2001-01-13\n')
  expect(textOf(await list())).toMatch(/Return 202512 Not checked \d+ \w+ \d{4},/)

  // While the next check is in progress, or if it did not finish, the page of the findings says that.
  const setRun = (status: string, completed: string) =>
    service.database.write('schema', (writer) =>
      writer.run(`update submission_run set status = '${status}', completed = ${completed}`),
    )
  await setRun('Queued', 'null')
  expect(textOf(await show('/check'))).toMatch(/Check Waiting .* Submit Not yet: being checked/)
  await setRun('InProgress', 'null')
  expect(textOf(await show('/findings'))).toContain('The check is in progress. See how far it is')
  await setRun('UnknownError', '1')
  expect(textOf(await show('/findings'))).toContain('The newest check did not finish. See why')
})

test('a submission whose files and checks are kept no longer says so, and nothing that is not so', async () => {
  const { service, put, show, send, check } = await start()
  await put('member,born\nM1,2001-01-13\n')
  await check()
  await send('/submit')
  const before = textOf(await show('/submit'))
  expect(before).toContain('Mahi has frozen these files. It does not send them anywhere.')
  await service.database.write('schema', async (writer) => {
    await writer.run('update file_version set received = 1')
    await writer.run('update submission set ended_at = 1')
    await writer.run('update submission_run set completed = 1')
  })
  await sweep(service.database, { files: 30, results: 30 })
  const submitted = textOf(await show('/submit'))
  expect(submitted).toContain('Mahi froze the files, and has deleted them since: they are kept no longer.')
  expect(submitted).not.toContain('has frozen these files')
  expect(textOf(await show('/files'))).toContain('No files are stored.')
  expect(textOf(await show('/check'))).toContain('No check is stored.')
  const findings = textOf(await show('/findings'))
  expect(findings).toContain('No finished check is stored.')
  expect(findings).not.toContain('Check the files')
})

test('a check that was stopped says so in words for people', async () => {
  const { service, put, show, check } = await start()
  await put(MEMBERS)
  await check()
  await service.database.write('schema', (writer) =>
    writer.run(`update submission_run set status = 'Halted', reason = 'It needed too much memory.'`),
  )
  const shown = textOf(await show('/check'))
  expect(shown).toContain('The last check did not finish: stopped at a limit. It needed too much memory.')
  expect(shown).not.toContain('Halted')
})

test('the activity says which data is kept no longer', async () => {
  const { service, put, show, check } = await start()
  await put('member,born\nM1,x\nM2,y\n')
  await check()
  await service.database.write('schema', async (writer) => {
    await writer.run('update file_version set received = 1')
    await writer.run('update submission_run set completed = 1')
  })
  await sweep(service.database, { files: 30, results: 30 })
  const shown = textOf(await show('/activity'))
  expect(shown).toContain('Deleted 1 file: kept no longer')
  expect(shown).toContain('Deleted 2 findings: kept no longer')
})

test('a deleted submission says that it was deleted, on each of its pages, and has no steps', async () => {
  const { put, show, send, again, list } = await start()
  await put(MEMBERS)
  expect(textOf(await show('/delete'))).toContain(
    'The files of this submission for return 202512 are deleted, with their findings, explanations and receipts. This cannot be undone. Only its activity stays.',
  )
  await send('/delete')
  for (const path of ['/files', '/check', '/findings', '/submit', '/activity']) {
    const page = await show(path)
    expect(textOf(page), path).toContain(
      'This submission was deleted, with its files, findings and receipts.',
    )
    expect(page, path).not.toMatch(/class="steps"|has expired|Check the files/)
  }
  expect(textOf(await show('/activity'))).toContain('Deleted the submission')
  // In the list, it comes after the others.
  await again()
  const rows = (await list()).split('<tr').slice(2)
  expect(rows.map((row) => [/^ class="soft"/.test(row), /Not started|Deleted/.exec(row)?.[0]])).toEqual([
    [false, 'Not started'],
    [true, 'Deleted'],
  ])
})

test('a form with a file says what was stored, or which file was refused and why', async () => {
  const { at, upload, service, cookie } = await start()
  const refused = await upload('members.csv', MEMBERS)
  expect([refused.statusCode, textOf(refused.body)]).toEqual([
    400,
    expect.stringContaining('members.csv is one file: choose what it is.'),
  ])
  expect(textOf((await upload('README.md', 'Read me')).body)).toContain(
    'README.md is one file: choose what it is. The name of an archive or workbook with all files must end with .zip or .xlsx.',
  )
  const other = await upload('return.ods', 'PK')
  expect(textOf(other.body)).toContain('return.ods cannot be read. Save it as XLSX or CSV.')
  const stored = await upload('members.csv', MEMBERS, 'members')
  expect(stored.headers.location).toBe(`${at}/files?eid=1001`)
  const [said = ''] = String(stored.headers['set-cookie']).split(';')
  const { body } = await service.app.inject({ url: `${at}/files`, headers: { cookie: `${cookie}; ${said}` } })
  expect(textOf(body)).toContain('Stored: members.')
  const archive = await upload('return.zip', String.fromCharCode(80, 75, 5, 6).padEnd(22, '\0'))
  expect(textOf(archive.body)).toContain('archive.zip is an empty ZIP archive.')
})
