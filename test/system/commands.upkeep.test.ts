import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { recordIndexFailure } from '../../src/catalogue/search/index-store.ts'
import { readRevisions } from '../../src/foundation/database/revisions.ts'
import { enqueue } from '../../src/foundation/jobs/queue.ts'
import { describeServer } from '../../src/operate/status.ts'
import { Installation } from '../support/command.ts'
import { listenOn } from '../support/connection.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'

describe('status', () => {
  test('shows what the database holds', async () => {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const expires = new Date(Date.now() + 5 * 86_400_000).toISOString()
    const create = ['keys', 'create', '--client', 'Te Pūkenga', '--expires', expires]
    const { id } = (await mahi.runJson(create)) as { id: string }
    const status = await mahi.runJson(['status'])
    expect(status).toMatchObject({
      occupations: 60,
      lastImport: expect.stringMatching(/Z$/),
      submissions: { total: 1 },
      // The index of what it was filled with.
      queue: { waiting: 1, running: 0 },
      workers: 0,
      keys: { valid: 2, expired: 0, revoked: 0 },
    })
    const { bytes, keys } = status as {
      bytes: number
      keys: { expiring: { id: string; clientId: string }[] }
    }
    expect(bytes).toBeGreaterThan(10_000)
    expect(keys.expiring).toContainEqual({ id, clientId: 'Te Pūkenga', expires })
    const { stdout } = await mahi.run(['status'])
    expect(stdout).toMatch(/^Occupations +60; last import 20/m)
    expect(stdout).toContain(`${id}  Te Pūkenga  ${expires.slice(0, 10)}`)
    expect((await mahi.runJson(['doctor', '--json'])) as object).toMatchObject({
      findings: expect.arrayContaining([
        { name: 'API keys', state: 'warning', message: expect.stringContaining('mahi keys rotate') },
      ]),
    })
    const rotated = (await mahi.runJson(['keys', 'rotate', id])) as { id: string }
    expect((await mahi.run(['status'])).stdout).toContain(`; ${rotated.id} replaces it\n`)
    const port = await listenOn(createServer())
    const doctor = await mahi.run(['doctor'], { environment: { PORT: String(port) } })
    // The other key expires too, and nothing replaces it.
    expect(doctor.stdout).toMatch(
      /^warning +API keys +The key mahi_\w+ of load expires on \d+ \w+ 20\d\d: run /m,
    )
    expect(doctor.stdout).not.toContain(id)
    expect(doctor.stdout).toMatch(
      /^good +DATABASE_URL +The database works, and its tables are up to date\.$/m,
    )
    expect([doctor.code, doctor.stderr]).toEqual([
      0,
      expect.stringMatching(/^The service can start once its ports are free\.$/m),
    ])
  })

  test('shows whether the catalogue is indexed, and why it is not', async () => {
    const mahi = await new Installation().fill([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
    expect(await mahi.runJson(['status'])).toMatchObject({ searchIndex: { state: 'waiting', bytes: null } })
    await withDatabase(mahi.databaseUrl, async (database) => {
      const { catalogue } = await readRevisions(database)
      await recordIndexFailure(database, catalogue, 'it is too large')
    })
    expect(await mahi.runJson(['status'])).toMatchObject({
      searchIndex: { state: 'failed', failed: expect.stringMatching(/Z$/), reason: 'it is too large' },
    })
    expect((await mahi.run(['status'])).stdout).toContain('it is too large; search is unavailable')
    const { bytes } = (await mahi.runJson(['occupations', 'index'])) as { bytes: number }
    expect(await mahi.runJson(['status'])).toMatchObject({
      searchIndex: { state: 'current', bytes, revision: expect.any(Number) },
    })
    expect(await mahi.runJson(['status'])).toMatchObject({ queue: { waiting: 0 } })
  })

  test('counts a job as waiting once it is due', async () => {
    const mahi = await new Installation().migrate()
    await withDatabase(mahi.databaseUrl, (database) =>
      database.write('schema', async (writer) => {
        await enqueue(writer, { kind: 'run', subject: '1', eid: '1001', due: Date.now() - 1000 })
        await enqueue(writer, { kind: 'retention', subject: '', eid: '', due: Date.now() + 86_400_000 })
      }),
    )
    expect(await mahi.runJson(['status'])).toMatchObject({
      queue: { waiting: 1, running: 0, oldest: expect.stringMatching(/Z$/) },
    })
    expect((await mahi.run(['status'])).stdout).toMatch(/^Queue +1 waiting, 0 running$/m)
  })

  test('a server started in a terminal prints its URL, and what is missing', async () => {
    const mahi = await new Installation().migrate()
    const describe = () =>
      withDatabase(mahi.databaseUrl, (database) => describeServer('http://h:1', database))
    expect(await describe()).toBe(
      [
        'Mahi serves http://h:1 with 0 occupations and 0 valid keys.',
        'Import occupations: mahi occupations import FILE',
        'Make a key for each client: mahi keys create --client NAME',
        'Ctrl+C stops it.',
      ].join('\n'),
    )
    await fillDatabase(mahi.databaseUrl)
    expect(await describe()).toBe(
      'Mahi serves http://h:1 with 60 occupations and 1 valid key.\nCtrl+C stops it.',
    )
  })
})

test('doctor reports what is wrong, says what to do, and fails', async () => {
  const mahi = new Installation()
  const environment = {
    REDIS_URL: 'redis://127.0.0.1:1',
    JWT_JWKS_URL: 'http://127.0.0.1:1/keys',
    CHECK_DISK_MB: '1048576',
    TMPDIR: mahi.folder,
  }
  const jwt = { JWT_ISSUER: 'https://i.example', JWT_AUDIENCE: 'mahi' }
  const { code, stdout } = await mahi.run(['doctor', '--json'], { environment: { ...environment, ...jwt } })
  expect(code).toBe(1)
  const { findings } = JSON.parse(stdout) as { findings: { name: string; state: string; message: string }[] }
  const states = Object.fromEntries(findings.map(({ name, state }) => [name, state]))
  expect(states).toMatchObject({
    DATABASE_URL: 'bad',
    REDIS_URL: 'bad',
    JWT_JWKS_URL: 'bad',
    CHECK_FOLDER: 'warning',
    'Node.js': 'good',
  })
  expect(findings.find(({ name }) => name === 'REDIS_URL')?.message).toContain('ECONNREFUSED')
  expect(findings.find(({ name }) => name === 'CHECK_FOLDER')?.message).toMatch(
    /^\S+ has [\d.]+ [MG]iB of free space, and a validation may need 1024\.0 GiB \(CHECK_DISK_MB\): free some, or lower it\.$/,
  )
})
