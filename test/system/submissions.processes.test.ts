import { readdirSync, readFileSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { Installation } from '../support/command.ts'
import { FileWorker } from '../support/file-worker.ts'

const FAULTY = fileURLToPath(new URL('../../samples/sdr/faulty/', import.meta.url))
const CLEAN = fileURLToPath(new URL('../../samples/sdr/clean/', import.meta.url))

async function start(environment: Record<string, string> = {}) {
  const mahi = new Installation({ inProcesses: true })
  const scopes = ['occupations:read', 'validation-results:read', 'submissions:write'] as const
  const key = await mahi.createKey({ scopes, eids: ['9'] })
  const { url, command } = await mahi.serve(environment)
  const client = createClient({ baseUrl: url, apiKey: key, eid: '9' })
  return { mahi, url, key, client, command }
}

test('mahi submit uploads a folder, waits, and exits as mahi check does', async () => {
  const { mahi, url, key } = await start({ WORKERS: '1', CONSOLE: 'on' })
  const options = { environment: { MAHI_API_KEY: key } }
  const given = ['--url', url, '--eid', '9', '--return', '202512', '--wait']
  const faulty = await mahi.run(['submit', FAULTY, ...given], options)
  expect(faulty).toMatchObject({ code: 1 })
  expect(faulty.stderr).toMatch(/run 1: \d+ errors and \d+ warnings/)
  const [head, ...rows] = faulty.stdout.trimEnd().split('\n')
  const checked = await mahi.run(['check', FAULTY, '--return', '202512'])
  for (const line of [head, ...rows]) expect(checked.stdout.split('\n')).toContain(line)
  expect(faulty.stderr).toMatch(
    /^Codes of the warnings: (?:[\w-]+, ){9}[\w-]+ and \d+ more\. List all with: mahi results fetch http/m,
  )
  expect(faulty.stderr).not.toContain('not submitted yet')
  expect(head).toMatch(/^severity +first +findings +learners +what to fix$/)
  expect(rows.length).toBeGreaterThan(10)
  const [, page = ''] = /^Console: (.+)$/m.exec(faulty.stderr) ?? []
  expect(page).toMatch(new RegExp(`^${url}/console/submissions/[\\w-]{20,}\\?eid=9$`))
  expect((await fetch(page)).status).toBe(401)
  const clean = await mahi.run(['submit', CLEAN, ...given, '--json'], options)
  expect([clean.code, JSON.parse(clean.stdout)]).toEqual([
    0,
    expect.objectContaining({ runId: 2, errorCount: 0, causes: [], alsoChecked: [], console: page }),
  ])
  const { submissions } = (await mahi.runJson(['submissions', 'list'])) as {
    submissions: { submissionToken: string; submissionStatus: string }[]
  }
  const [{ submissionToken = '', submissionStatus = '' } = {}] = submissions
  expect(submissionStatus).toBe('Validated')
  expect(await mahi.runJson(['submissions', 'show', submissionToken])).toMatchObject({
    validationRun: { runId: 2 },
  })
  await mahi.run(['submissions', 'delete', submissionToken])
  await mahi.run(['submissions', 'purge'])
  expect((await mahi.run(['submissions', 'list'])).stdout).toContain('Cancelled')
})

test('a worker that is killed loses nothing: another one does its run', async () => {
  const { mahi, client } = await start()
  const { submissionToken: token = '' } = await client.submissions.create({ returnId: '202512' })
  const database = await openDatabase(mahi.databaseUrl)
  const files = new FileWorker(database)
  for (const name of readdirSync(CLEAN).filter((each) => each.endsWith('.csv'))) {
    const content = readFileSync(CLEAN + name, 'utf8')
    await files.during(client.submissions.putFile(token, name.replace('.csv', ''), content))
  }
  const { runId = 0 } = await client.submissions.validate(token)
  const first = mahi.start(['work'])
  while ((await client.submissions.run(token, runId)).status === 'Queued') await sleep(5)
  expect(getPriority(first.child.pid)).toBeGreaterThanOrEqual(constants.priority.PRIORITY_BELOW_NORMAL)
  first.kill('SIGKILL')
  await first.ended
  const job = await database.get<{ attempts: number }>('select attempts from job where kind = $1', ['run'])
  // It may have been quicker than the kill.
  if (job !== undefined) {
    expect(job.attempts).toBe(1)
    await database.write('schema', (writer) => writer.run('update job set lease = 1'))
  }
  mahi.start(['work'])
  const run = await client.submissions.waitForRun(token, runId)
  expect(run).toMatchObject({ status: 'Processed', errorCount: 0 })
  expect(await client.submissions.submit(token)).toMatchObject({ submissionStatus: 'Submitted' })
  await database.close()
})

test('a server that is killed while mahi submit waits: the command says that the check continues', async () => {
  const { mahi, url, key, command } = await start({ CONSOLE: 'on' })
  const given = ['--url', url, '--eid', '9', '--return', '202512', '--wait']
  const submit = mahi.start(['submit', `${CLEAN}courses.csv`, ...given], {
    environment: { MAHI_API_KEY: key },
  })
  const database = await openDatabase(mahi.databaseUrl)
  await new FileWorker(database).during(submit.output(/The run is waiting for its turn\./))
  await database.close()
  command.kill('SIGKILL')
  const { code, stderr } = await submit.ended
  expect(code).toBe(1)
  const host = url.replace('http://', '')
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
    new RegExp(
      `^Nothing listens on ${host}\\. All files were received, and the check continues when the service runs again\\. Then see the result with: mahi results fetch ${url} \\S+ --eid 9, or open ${url}/console/submissions/\\S+\\?eid=9$`,
    ),
  )
})
