import { createServer, request as makeRequest } from 'node:http'
import { expect, test } from 'vitest'
import { Sessions } from '../../src/console/sessions.ts'
import { EMPTY_RETURN } from '../../src/foundation/text/empty-return.ts'
import { count } from '../../src/foundation/text/format-number.ts'
import { COURSES, makeLearners, startCollection } from '../support/collection.ts'
import { Installation } from '../support/command.ts'
import { listen, listenOn } from '../support/connection.ts'
import { startWorker } from '../support/submission-worker.ts'

test('warnings are explained, and a submission is submitted, at the command line', async () => {
  const { service, createCaller } = await startCollection()
  const url = `http://127.0.0.1:${await listen(service)}`
  const provider = await createCaller('records', ['1001'])
  const token = await provider.create()
  await provider.put(token, 'courses', COURSES)
  await provider.put(token, 'learners', makeLearners({ notes: 3, remarks: 2 }))
  await provider.check(token)

  const mahi = new Installation()
  const run = async (command: string, ...more: string[]) => {
    const given = ['submissions', command, token, ...more, '--url', url, '--eid', '1001']
    return await mahi.run(given, { environment: { MAHI_API_KEY: provider.key } })
  }

  const open = await run('explanations')
  expect(open.stdout).toBe('LEA-note  Open: needs an explanation (3 findings)\n')
  expect(open.stderr).toContain('1 code needs an explanation before the submission.')
  const refused = await run('submit')
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toMatch(/^http\S+: This warning needs an explanation .*: LEA-note \(3 findings\)/)
  // A title that says the same in general is left out.
  expect((await run('receipt')).stderr).toBe(
    `${url}: The submission has no such receipt: it was not submitted yet.\n`,
  )

  const wordless = await run('explain', 'LEA-note', '--reason', 'Other')
  expect([wordless.code, wordless.stderr]).toEqual([1, expect.stringContaining('Other needs --text')])
  const unknown = await run('explain', 'LEA-none', '--reason', 'Agreed')
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringContaining('The current run has no findings with this code or cause.'),
  ])

  const hostile = await run('explain', 'LEA-note', '--reason', 'Other', '--text', 'Right\nLEA-x  Explained')
  expect(hostile).toMatchObject({ code: 0, stdout: '' })
  expect(hostile.stderr).toMatch(
    /^LEA-note {2}Explained \(3 findings\) by records, Other: Right\\u000aLEA-x {2}Explained$/m,
  )
  const { causes } = (await provider.ask('GET', `/submissions/${token}/validation-results/causes`)).body
  const { key } = causes.find(({ codes }: { codes: string[] }) => codes.includes('LEA-remark'))
  const cause = await run('explain', key, '--reason', 'Verified', '--json')
  expect(JSON.parse(cause.stdout)).toMatchObject({ target: key, kind: 'cause', reason: 'Verified' })
  const withdrawn = await run('withdraw', key, '--json')
  expect(JSON.parse(withdrawn.stdout).explanations.map(({ target }: { target: string }) => target)).toEqual([
    'LEA-note',
  ])
  expect((await run('withdraw', key)).code).toBe(1)

  const submitted = await run('submit')
  expect([submitted.code, submitted.stderr]).toEqual([
    0,
    expect.stringContaining('Submitted. It can no longer be changed.'),
  ])
  const { body: receipt } = await provider.ask('GET', `/submissions/${token}/receipt`)
  expect(submitted.stdout).toContain(
    'Receipt 1 for return 202512 of organisation 1001\nSubmitted by records at',
  )
  expect(receipt.files.length).toBe(2)
  for (const { file, records, sha256 } of receipt.files)
    expect(submitted.stdout).toContain(`\n${file}  ${count(records, 'record')}  ${sha256}\n`)
  expect(submitted.stdout).toContain('\nLEA-note  Explained (3 findings) by records, Other: Right')
  expect((await run('receipt')).stdout).toBe(submitted.stdout)
  expect(JSON.parse((await run('submit', '--json')).stdout)).toEqual(receipt)

  const late = await run('withdraw', 'LEA-note')
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('submitted')])
})

test('mahi submit says what else was checked, what can be explained, and that the return is not submitted', async () => {
  const { service, definition, provider } = await startCollection()
  const url = `http://127.0.0.1:${await listen(service)}`
  const mahi = new Installation()
  const run = async (...given: string[]) =>
    await mahi.run([...given, '--url', url, '--eid', '1001'], {
      environment: { MAHI_API_KEY: provider.key, TZ: 'Pacific/Auckland' },
    })
  const submit = (...given: string[]) =>
    run('submit', ...given, '--return', '202512', '--definition', definition)
  mahi.write('courses.csv', COURSES)
  const sent = await submit('courses.csv')
  const [, token = ''] = /^Run 1 of submission (\S+) is Queued\.$/m.exec(sent.stderr) ?? []
  expect(sent.stderr).toContain(
    `When it has ended, see the result with: mahi results fetch ${url} ${token} --eid 1001\n`,
  )

  mahi.write('learners.csv', makeLearners({ notes: 1, remarks: 2 }))
  const checked = await submit('learners.csv', '--wait')
  const [explain, freeze] = ['explain TOKEN CODE --reason Verified', 'submit TOKEN'].map(
    (each) => `mahi submissions ${each.replace('TOKEN', token)} --url ${url} --eid 1001`,
  )
  expect(checked.code).toBe(0)
  expect(checked.stderr.split('\n').slice(-6)).toEqual([
    expect.stringMatching(
      /^Also checked, from other uploads: courses \(1 record, \d+ \w+ \d{4}, \d\d:\d\d\)\.$/,
    ),
    expect.stringMatching(`^Submission ${token}, run \\d: 0 errors and 3 warnings\\.$`),
    'Codes of the warnings: LEA-remark, LEA-note.',
    `Explain those whose values are right with: ${explain}`,
    `The return is not submitted yet. Before it can be, explain LEA-note (1 finding). Submit it with: ${freeze}`,
    '',
  ])

  // Nothing is left over from before, and nothing may be submitted.
  mahi.write('learners.csv', makeLearners({ faults: 1 }))
  const faulty = await submit('learners.csv', 'courses.csv', '--wait')
  expect(faulty.code).toBe(1)
  expect(faulty.stderr).toMatch(/: 1 error and 0 warnings\.\n$/)
  expect(faulty.stderr).not.toContain('Also checked')
  expect((await run('submissions', 'submit', token)).stderr).toBe(
    `${url}: The current run found 1 error. Correct it and validate again.\n`,
  )
})

test('mahi submit reports a run that has read the files that it sent, also if an earlier run is queued', async () => {
  const { service, definition, provider } = await startCollection({}, { works: false })
  const url = `http://127.0.0.1:${await listen(service)}`
  const mahi = new Installation()
  const submit = (...given: string[]) =>
    mahi.start(
      ['submit', ...given, '--return', '202512', '--definition', definition, '--url', url, '--eid', '1001'],
      { environment: { MAHI_API_KEY: provider.key } },
    )
  mahi.write('courses.csv', COURSES)
  expect((await submit('courses.csv').ended).code).toBe(0)
  mahi.write('learners.csv', makeLearners())
  // Without waiting, it is said what the earlier run does not read.
  const early = await submit('learners.csv').ended
  expect([early.code, early.stderr.split('\n').slice(1)]).toEqual([
    0,
    [
      expect.stringMatching(/^Run 1 of submission \S+ is Queued\.$/),
      'Run 1 was requested before these files arrived, and does not check them as sent: learners.',
      'Run the same command again with --wait, which has a run read the files that it sends.',
      '',
    ],
  ])
  const json = await submit('learners.csv', '--json').ended
  expect(JSON.parse(json.stdout)).toMatchObject({ runId: 1, notChecked: ['learners'] })
  const second = submit('learners.csv', '--wait')
  await second.output(/waiting for its turn/)
  await startWorker(service.database, [definition])
  const { code, stderr } = await second.ended
  expect(stderr).toContain('\nThe files have changed since run 1 was requested. They are validated again.\n')
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^Submission \S+, run 2: 0 errors and 0 warnings\.$/m),
  ])
})

test('mahi submit says which checked files are not those that it sent, and which have changed since', async () => {
  const { service, definition, provider } = await startCollection({}, { works: false })
  const target = `http://127.0.0.1:${await listen(service)}`
  const [mine, theirs] = [makeLearners({ records: 3 }), makeLearners({ records: 4 })]
  // Somebody else replaces a file before the run of the command is requested.
  const url = await startProxy(target, async ({ method, path, token }) => {
    if (method === 'POST' && path.endsWith('/validation-runs')) await provider.put(token, 'learners', theirs)
  })
  const mahi = new Installation()
  mahi.write('courses.csv', COURSES)
  mahi.write('learners.csv', mine)
  const submit = (to: string, ...given: string[]) => {
    const place = ['--return', '202512', '--definition', definition, '--url', to, '--eid', '1001']
    return mahi.start(['submit', 'learners.csv', 'courses.csv', ...place, '--wait', ...given], {
      environment: { MAHI_API_KEY: provider.key },
    })
  }
  const advice =
    'Agree with the others who send files of this return, then run the same command again to send all of yours.'

  const late = submit(url)
  await late.output(/waiting for its turn/)
  const inTime = submit(target)
  await inTime.output(/waiting for its turn/)
  await startWorker(service.database, [definition])

  // Its files arrived while a run of the others was queued, so they are checked again.
  const { code, stderr } = await inTime.ended
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^Submission \S+, run 2: 0 errors and 0 warnings\.$/m),
  ])
  expect(stderr).toContain('\nThe files have changed since run 1 was requested. They are validated again.\n')
  const mixed = await late.ended
  expect([mixed.code, mixed.stderr.trimEnd().split('\n').slice(-4)]).toEqual([
    1,
    [
      'Run 1 does not check these files as sent, because somebody has replaced or deleted them: learners.',
      expect.stringMatching(/^Changed since run 1 was requested: .*learners\.$/),
      expect.stringMatching(/^Submission \S+, run 1: 0 errors and 0 warnings\.$/),
      advice,
    ],
  ])

  const json = await submit(url, '--json').ended
  expect([json.code, JSON.parse(json.stdout)]).toEqual([
    1,
    expect.objectContaining({ errorCount: 0, alsoChecked: [], notChecked: ['learners'], changed: [] }),
  ])

  // The same content from somebody else makes no difference.
  mahi.write('learners.csv', theirs)
  const same = await submit(url, '--json').ended
  expect([same.code, JSON.parse(same.stdout)]).toEqual([
    0,
    expect.objectContaining({ alsoChecked: [], notChecked: [], changed: [] }),
  ])
})

test('a return without records is named before and after its submission', async () => {
  const { service, definition, provider } = await startCollection({ CONSOLE: 'on' })
  const url = `http://127.0.0.1:${await listen(service)}`
  const mahi = new Installation()
  const run = async (...given: string[]) =>
    await mahi.run([...given, '--url', url, '--eid', '1001'], { environment: { MAHI_API_KEY: provider.key } })
  mahi.write('courses.csv', COURSES)
  mahi.write('learners.csv', makeLearners({ records: 0 }))
  const submit = async () =>
    (
      await run(
        'submit',
        'learners.csv',
        'courses.csv',
        '--return',
        '202512',
        '--definition',
        definition,
        '--wait',
      )
    ).stderr
  // One file with records is enough.
  expect(await submit()).not.toContain(EMPTY_RETURN)
  mahi.write('courses.csv', 'localId,code,title\n')
  const stderr = await submit()
  expect(stderr).toContain(`\n${EMPTY_RETURN}\nThe return is not submitted yet.`)
  const [, token = ''] = /^Submission (\S+),/m.exec(stderr) ?? []
  const sessions = new Sessions(service.database)
  const cookie = `mahi-session=${await sessions.openLink(await sessions.createLink(provider.id))}`
  const show = async (page: string) =>
    (await service.request({ url: `/console/submissions/${token}/${page}?eid=1001`, headers: { cookie } }))
      .body
  const before = await show('submit')
  expect(before).toContain('Ready to submit')
  expect(before).toContain(EMPTY_RETURN)
  expect((await run('submissions', 'submit', token)).stdout).toContain(`\n${EMPTY_RETURN}\n`)
  expect(await show('submit')).toContain(EMPTY_RETURN)
  expect(await show('receipt')).toContain(EMPTY_RETURN)
})

interface Forwarded {
  readonly method: string
  readonly path: string
  readonly token: string
}

/** Starts a server that forwards calls to a service, and does something before each. */
async function startProxy(target: string, before: (call: Forwarded) => Promise<void>): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/', headers } = request
    const [, token = ''] = /\/submissions\/([^/]+)/.exec(path) ?? []
    await before({ method, path, token })
    const forwarded = makeRequest(`${target}${path}`, { method, headers }, (received) => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
    })
    request.pipe(forwarded)
  })
  return `http://127.0.0.1:${await listenOn(server)}`
}

test('a command that lacks its key names the scope that the key needs', async () => {
  const mahi = new Installation()
  const given = ['TOKEN', '--url', 'http://127.0.0.1:1', '--eid', '1001']
  const read = await mahi.run(['submissions', 'explanations', ...given])
  expect(read.stderr).toContain(
    'MAHI_API_KEY is not set. Set it to a key with the scope validation-results:read',
  )
  const write = await mahi.run(['submissions', 'submit', ...given])
  expect([write.code, write.stderr]).toEqual([1, expect.stringContaining('the scope submissions:write')])
})
