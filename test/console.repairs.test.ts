import { expect, test } from 'vitest'
import { untilHolds } from './support/command.ts'
import { ConsoleService, describeForm } from './support/console.ts'
import { define } from './support/definition.ts'
import { startWorker } from './support/submission-worker.ts'

const MEMBERS = 'member,born\nM1,13/01/2001\nM2,14/01/2001\nM3,15/01/2001\n'

test('people see what Mahi can repair, apply it, and undo it until the next upload; what comes too late says so', async () => {
  const definition = define(
    {
      members: {
        resource: { 'mahi:fileType': 'Learner' },
        fields: [{ name: 'member' }, { name: 'born', type: 'date' }],
      },
    },
    { 'mahi:return': { default: '202512', pattern: '20[0-9]{4}' } },
  )
  const console = await ConsoleService.start({ DEFINITIONS: definition, RATE_LIMIT_SUBMISSIONS: 'off' })
  const { service } = console
  await startWorker(service.database, [definition])
  const cookie = await console.signIn()
  const { key } = await service.createKey({
    scopes: ['submissions:write', 'validation-results:read'],
    eids: ['1001'],
  })
  const headers = { 'x-api-key': key, eid: '1001' }
  const token = await service.createSubmission(headers)
  const at = `/console/submissions/${token}`
  const put = async (content: string) => {
    const sent = { ...headers, 'content-type': 'text/csv' }
    const url = `/v1/submissions/${token}/files/members`
    expect(
      (await service.app.inject({ method: 'PUT', url, headers: sent, payload: content })).statusCode,
    ).toBe(200)
  }
  const show = async (path: string) =>
    (await service.app.inject({ url: `${at}${path}?eid=1001`, headers: { host: 'localhost', cookie } })).body
  const textOf = (page: string) => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  const send = async (path: string, fields: Record<string, string> = {}) => {
    const form = describeForm({ eid: '1001', ...fields }, cookie)
    return await service.app.inject({ ...form, url: `${at}${path}` })
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
  await put(MEMBERS)
  await check()
  expect(textOf(await show('/findings'))).toMatch(/Mahi (?:looks for what it can|can) repair/)
  await find()

  const preview = await show('/repairs')
  expect(textOf(preview)).toMatch(/Mahi makes 3 changes\. 1 of 1 cause disappears, and none is left then\./)
  expect(textOf(preview)).toContain('members born 13/01/2001')
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
  const empty = textOf(await show('/repairs'))
  expect(empty).toContain('Nothing has only one possible repair.')
  expect(empty).toContain('The files were repaired. You can undo that until the next upload.')
  await check()
  expect(textOf(await show('/activity'))).toMatch(
    /adviser Repaired members: 3 changes\. SHA-256 \w{8}… → \w{8}…/,
  )

  const undone = await send('/repairs/undo')
  expect(undone.headers.location).toBe(`${at}/files?eid=1001&notice=undone`)
  await apply()
  await put(MEMBERS)
  const late = await send('/repairs/undo')
  expect([late.statusCode, textOf(late.body)]).toEqual([
    409,
    expect.stringContaining(
      'There is no repair to undo: the files were not repaired, or they have changed or were submitted since.',
    ),
  ])
})
