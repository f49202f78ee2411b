import { readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { recordIndexFailure } from '../../src/catalogue/search/index-store.ts'
import { storeValue } from '../../src/foundation/database/instance.ts'
import { readRevisions } from '../../src/foundation/database/revisions.ts'
import { enqueue } from '../../src/foundation/jobs/queue.ts'
import type { Fault } from '../../src/operate/faults.ts'
import { describeServer } from '../../src/operate/status.ts'
import { Installation } from '../support/command.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { engine } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

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
      submissions: { total: 1, byState: { Published: 1 } },
      runs: { Processed: 1 },
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
    expect(stdout).toMatch(/^Submissions +1 Published\nRuns +1 Processed$/m)
    expect(stdout).toContain(`${id}  Te Pūkenga  ${expires.slice(0, 10)}`)
    const rotated = (await mahi.runJson(['keys', 'rotate', id])) as { id: string }
    expect((await mahi.run(['status'])).stdout).toContain(`; ${rotated.id} replaces it\n`)
    // The other key expires too, and nothing replaces it.
    const { faults } = (await mahi.runJson(['status'])) as { faults: Fault[] }
    const { message } = faults.find(({ name }) => name === 'Keys') ?? {}
    expect(message).toMatch(/^The key mahi_\w+ of load expires on \d+ \w+ 20\d\d: run /)
    expect(message).not.toContain(id)
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

describe('status says what is wrong, and what to do', () => {
  const examine = async (mahi: Installation, environment: Readonly<Record<string, string>>) => {
    const { code, stdout } = await mahi.run(['status', '--json'], { environment })
    const { faults } = JSON.parse(stdout) as { faults: Fault[] }
    return {
      code,
      faults: Object.fromEntries(faults.map(({ name, state, message }) => [name, [state, message]])),
    }
  }

  test('with what the settings name, and exits 1 if something does not work', async () => {
    const mahi = await new Installation().migrate()
    const environment = {
      REDIS_URL: 'redis://127.0.0.1:1',
      JWT_JWKS_URL: 'http://127.0.0.1:1/keys',
      JWT_ISSUER: 'https://i.example',
      JWT_AUDIENCE: 'mahi',
      UPLOAD_MAX_MB: '65536',
      TMPDIR: mahi.folder,
      HOST: '0.0.0.0',
    }
    const { code, faults } = await examine(mahi, environment)
    expect([code, faults]).toEqual([
      1,
      {
        Keys: ['warning', 'There is no valid key: run "mahi keys create --client NAME".'],
        CHECK_FOLDER: [
          'warning',
          expect.stringMatching(
            /^\S+ has [\d.]+ [MG]iB of free space, and a validation may need 1024\.0 GiB \(16 times UPLOAD_MAX_MB\): free some, or lower that\.$/,
          ),
        ],
        REDIS_URL: ['bad', 'It cannot be reached (ECONNREFUSED): is it running?'],
        JWT_JWKS_URL: [
          'bad',
          'http://127.0.0.1:1/keys does not respond: is it running, and does the network let you through?',
        ],
        TRUST_PROXY: ['warning', expect.stringContaining('Name it in TRUST_PROXY.')],
      },
    ])
    expect((await mahi.run(['status'], { environment })).stdout).toMatch(/^REDIS_URL +bad +It cannot/m)
  })

  testWhere(
    Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1')),
    'Redis at an address of IPv6: this machine has none',
  )('but nothing of a Redis at an address of IPv6', async () => {
    const mahi = await new Installation().migrate()
    const server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => server.listen(0, '::1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { faults } = await examine(mahi, { REDIS_URL: `redis://[::1]:${port}` })
    expect(faults).not.toHaveProperty('REDIS_URL')
  })

  test('with the database, which it does not change', async () => {
    const mahi = new Installation()
    const absent = { DATABASE_URL: `sqlite:${mahi.folder}/absent.db` }
    expect(await examine(mahi, absent)).toMatchObject({
      code: 1,
      faults: { DATABASE_URL: ['bad', expect.stringContaining('does not exist')] },
    })
    expect(readdirSync(mahi.folder)).toEqual([])
    if (engine === 'sqlite') writeFileSync(join(mahi.folder, 'absent.db'), '')
    const empty = engine === 'sqlite' ? absent : { DATABASE_URL: mahi.databaseUrl }
    expect(await examine(mahi, empty)).toMatchObject({
      code: 1,
      faults: { DATABASE_URL: ['bad', 'The database has no tables yet: run "mahi migrate".'] },
    })
  })

  test('with retention: it has paused, because the clock was ahead', async () => {
    const mahi = await new Installation().migrate()
    await withDatabase(mahi.databaseUrl, (database) =>
      database.write('schema', async (writer) => {
        const swept = Date.now()
        await storeValue(writer, 'retention', JSON.stringify({ swept, until: swept + 86_400_000 }))
      }),
    )
    expect(await examine(mahi, {})).toMatchObject({
      code: 0,
      faults: {
        Retention: ['warning', expect.stringMatching(/^Nothing is deleted by age until \d+ \w+ 20/)],
      },
    })
  })

  test('with the queue: a job has waited, and no worker runs', async () => {
    const mahi = await new Installation().migrate()
    await withDatabase(mahi.databaseUrl, (database) =>
      database.write('schema', async (writer) => {
        await enqueue(writer, { kind: 'index', subject: '', eid: '', due: Date.now() })
        await writer.run('update job set queued = due - 61000, due = due - 61000')
      }),
    )
    expect(await examine(mahi, {})).toMatchObject({
      code: 0,
      faults: { Worker: ['warning', expect.stringContaining('no worker does them: run "mahi work"')] },
    })
  })
})
