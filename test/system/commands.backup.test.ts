import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { backUp } from '../../src/operate/backup.ts'
import { backUpSeries, type SeriesBackup } from '../../src/operate/backup-series.ts'
import { pipePrograms } from '../../src/operate/postgres-programs.ts'
import { restore } from '../../src/operate/restore.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { Installation, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'
import { sourceOf } from '../support/service.ts'
import { describeTables, NOT_RESTORED } from '../support/state.ts'
import { readStored } from '../support/stored-findings.ts'
import { engine, temporaryDatabaseUrl, temporaryFolder } from '../support/temporary.ts'

/** A caller that uploads a file to a submission of its own again and again. */
class Writing {
  readonly #statuses = new Set<number>()
  readonly #ended: Promise<void>
  #stopping = false

  constructor(url: string, key: string) {
    this.#ended = this.#write(url, { 'x-api-key': key, eid: '1001' })
  }

  /** The statuses of all uploads. */
  async stop(): Promise<ReadonlySet<number>> {
    this.#stopping = true
    await this.#ended
    return this.#statuses
  }

  async #write(url: string, headers: Record<string, string>): Promise<void> {
    const created = await fetch(`${url}/v1/submissions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"returnId":"202512"}',
    })
    const { submissionToken } = (await created.json()) as { submissionToken: string }
    while (!this.#stopping) {
      const response = await fetch(`${url}/v1/submissions/${submissionToken}/files/learners`, {
        method: 'PUT',
        headers: { ...headers, 'content-type': 'text/csv' },
        body: 'localId,studentIdentificationCode\nL1,S1\n',
      })
      await response.arrayBuffer()
      this.#statuses.add(response.status)
    }
  }
}

describe('backup and restore, while the service runs', () => {
  test('readers see the state before a restore or the one after it while others write, and one that fails changes nothing', async () => {
    const mahi = new Installation({ inProcesses: true })
    const { headers, token } = await fillDatabase(mahi.databaseUrl)
    const writer = await withDatabase(mahi.databaseUrl, (database) =>
      createKey(database, {
        client: 'writer',
        scopes: ['validation-results:read', 'submissions:write'],
        eids: ['1001'],
        expires: Date.now() + 86_400_000,
      }),
    )
    const file = join(temporaryFolder(), 'mahi.backup')
    await backUp(mahi.databaseUrl, file)
    await withDatabase(mahi.databaseUrl, async (database) => {
      const records = Array.from({ length: 9 }, (_, index) => ({ occupationCode: `LATER${index}` }))
      await importOccupations(database, sourceOf(records), { replace: true })
      const entries = records.map(({ occupationCode: studentId }) => ({ localId: studentId, studentId }))
      await publishResults(database, sourceOf(entries), { eid: '1001', returnId: 'R1', token })
    })
    const { url } = await mahi.serve({ ...UNLIMITED, PAGE_CACHE_MB: '0', RATE_LIMIT_SUBMISSIONS: 'off' })
    const findings = `/v1/submissions/${token}/validation-results`
    const questions = [
      { path: '/v1/occupations', headers },
      { path: '/v1/occupations?Filter.LastUpdatedAfter=2020-01-01T00:00:00Z&Limit=5', headers },
      { path: `/v1/submissions/${token}`, headers },
      { path: findings, headers },
      ...['summary', 'causes', 'findings', 'learners'].map((part) => ({
        path: `${findings}/${part}`,
        headers,
      })),
      { path: findings, headers: { ...headers, accept: 'application/x-ndjson' } },
    ]
    const askAll = async () =>
      await Promise.all(
        questions.map(async (question) => (await ask(url + question.path, question.headers)).body),
      )
    const before = await askAll()
    const seen = questions.map(() => new Set<string>())
    const load = new Load([url], questions, {
      callers: 12,
      check: (body, question) => seen[questions.indexOf(question)]?.add(body),
    })
    const writing = new Writing(url, writer.key)
    // It fails when everything is restored beside.
    const ERASURE_LOG = join(temporaryFolder(), 'erased.ndjson')
    writeFileSync(ERASURE_LOG, 'not a log\n')
    const failed = await mahi.run(['restore', '--replace', file], { environment: { ERASURE_LOG } })
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('Nothing was changed')])
    expect(seen.map((bodies) => [...bodies])).toEqual(before.map((body) => [body]))

    await mahi.runJson(['restore', '--replace', file])
    await load.until(() => seen.every(({ size }) => size === 2))
    const [counts, written] = await Promise.all([load.stop(), writing.stop()])
    // Its submission is gone with the state in which it was made, perhaps during an upload; that may also meet the switch.
    expect([...written].filter((status) => ![200, 401, 410, 503].includes(status))).toEqual([])
    expect(written).toContain(200)
    expect([counts.otherwise, counts.unavailable]).toEqual([[], 0])
    const after = await askAll()
    expect(seen.map((bodies) => [...bodies])).toEqual(before.map((body, index) => [body, after[index]]))
  })

  test('a restored database is what it was, and the service shows it at once', async () => {
    const mahi = new Installation()
    const { headers, keyId } = await fillDatabase(mahi.databaseUrl)
    const { url } = await mahi.serve()
    const count = async () =>
      JSON.parse((await ask(`${url}/v1/occupations`, headers)).body).totalCount as number
    expect(await count()).toBe(60)
    const before = await describeTables(mahi.databaseUrl, NOT_RESTORED)
    const file = join(temporaryFolder(), 'mahi.backup')
    const backup = (await mahi.runJson(['backup', file])) as { file: string; bytes: number }
    expect(backup).toEqual({ file, bytes: statSync(file).size })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(file, '..'))).toEqual(['mahi.backup'])

    await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"LATER"}\n' })
    await mahi.run(['keys', 'revoke', keyId])
    await until(async () => ((await ask(`${url}/v1/occupations`, headers)).status === 401 ? true : undefined))

    const refused = await mahi.run(['restore', file])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('holds data: give --replace')])
    await mahi.runJson(['restore', file, '--replace'])
    expect(await describeTables(mahi.databaseUrl, NOT_RESTORED)).toEqual(before)
    await until(async () => ((await ask(`${url}/v1/occupations`, headers)).status === 200 ? true : undefined))
    await until(async () => ((await count()) === 60 ? true : undefined))
  })

  test('a file that is not a backup is refused, and changes nothing', async () => {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const before = await describeTables(mahi.databaseUrl, NOT_RESTORED)
    const file = join(temporaryFolder(), 'other')
    const whole = join(temporaryFolder(), 'whole.backup')
    await mahi.runJson(['backup', whole])
    const half = readFileSync(whole).subarray(0, statSync(whole).size / 2)
    for (const text of ['', half, 'PGDMP and then nothing', 'SQLite format 3\0 and then nothing']) {
      writeFileSync(file, text)
      const { code, stderr } = await mahi.run(['restore', file, '--replace'])
      expect([text.length, code]).toEqual([text.length, 1])
      expect(stderr).toMatch(/is damaged|is a backup of|pg_restore failed: .* use another backup/)
    }
    expect((await mahi.run(['restore', `${file}.absent`])).stderr).toContain('does not exist')
    expect((await mahi.run(['backup', join(file, 'in', 'a', 'file')])).stderr).toMatch(
      /cannot be written|ENOTDIR/,
    )
    const folder = dirname(file)
    expect((await mahi.run(['backup', folder])).stderr).toContain(
      `${folder} is a folder. Name a file, such as ${folder}/mahi.backup, or keep several in it with --keep. No backup was written`,
    )
    expect((await mahi.run(['backup', join(folder, 'none', 'x')])).stderr).toContain(
      `cannot be written: the folder ${folder}/none does not exist. No backup was written`,
    )
    expect(await describeTables(mahi.databaseUrl, NOT_RESTORED)).toEqual(before)
  })
})

describe('a restore', () => {
  async function makeBackup() {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const file = join(temporaryFolder(), 'mahi.backup')
    await backUp(mahi.databaseUrl, file)
    await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"LATER"}\n' })
    return { url: mahi.databaseUrl, file }
  }
  const countLater = async (database: Database) =>
    (await database.all(`select code from occupation where code = 'LATER'`)).length

  test('happens beside the database, which can be read and changed until it is complete', async () => {
    const { url, file } = await makeBackup()
    const counts: number[] = []
    await restore(url, file, {
      replace: true,
      prepare: async (restored, replaced) => {
        counts.push(await countLater(restored), await countLater(replaced))
        // Neither the reader nor the writer waits for the restore.
        await replaced.write('keys', async (writer) => {
          await writer.run(`update revision set changed = 1 where name = 'run'`)
        })
      },
    })
    expect(counts).toEqual([0, 1])
    expect(await withDatabase(url, countLater)).toBe(0)
  })

  test('waits for a change of another process that is not complete', async () => {
    const { url, file } = await makeBackup()
    const begun = Promise.withResolvers<void>()
    const ending = Promise.withResolvers<void>()
    const changed = withDatabase(url, (database) =>
      database.write('keys', async (writer) => {
        await writer.run(`update revision set changed = 1 where name = 'run'`)
        begun.resolve()
        await ending.promise
      }),
    )
    await begun.promise
    const prepare = async () => {
      // The switch comes after this.
      setTimeout(ending.resolve, 300)
    }
    await restore(url, file, { replace: true, prepare })
    await changed
    expect(await withDatabase(url, countLater)).toBe(0)
  })

  test('that fails changes nothing and leaves nothing behind', async () => {
    const { url, file } = await makeBackup()
    const before = await describeTables(url, NOT_RESTORED)
    const prepare = async () => {
      throw new Error('not this one')
    }
    await expect(restore(url, file, { replace: true, prepare })).rejects.toThrow('not this one')
    expect(await describeTables(url, NOT_RESTORED)).toEqual(before)
    if (engine === 'sqlite') {
      const path = url.slice('sqlite:'.length)
      expect(readdirSync(dirname(path)).filter((name) => name.includes('.restore'))).toEqual([])
      return
    }
    await withDatabase(url, async (database) => {
      const rows = await database.all(
        `select nspname from pg_namespace where nspname = current_schema() || '_restore'`,
      )
      expect(rows).toEqual([])
    })
  })

  test.skipIf(engine === 'sqlite')('keeps the privileges on the tables', async () => {
    const { url, file } = await makeBackup()
    const readPrivileges = (database: Database) =>
      database.all(
        `select relname, relacl::text from pg_class
         where relnamespace = current_schema()::regnamespace and relkind in ('r', 'S') order by relname`,
      )
    await withDatabase(url, async (database) => {
      await database.write('schema', async (writer) => {
        await writer.run('grant select, insert on occupation to pg_monitor')
        await writer.run('grant usage on sequence job_id_seq to public')
      })
      const before = await readPrivileges(database)
      await restore(url, file, { replace: true, prepare: async () => undefined })
      expect(await readPrivileges(database)).toEqual(before)
    })
  })

  test.skipIf(engine === 'sqlite')('ends when psql fails early, and quotes no row', async () => {
    const { url, file } = await makeBackup()
    const read = { program: 'pg_restore', parameters: ['--file=-', file] } as const
    const write = {
      program: 'psql',
      url,
      parameters: ['--no-psqlrc', '--set=ON_ERROR_STOP=1', '--file=-'],
    } as const
    async function* failing(chunks: AsyncIterable<Buffer>) {
      yield `select 'a-row-with-data'::bigint;\n`
      // More than fits into the pipes.
      for (let count = 0; count < 100; count++) yield Buffer.alloc(65_536, ' \n')
      yield* chunks
    }
    for (let round = 0; round < 10; round++) {
      const failure = await pipePrograms(read, write, failing).catch((error: Error) => error.message)
      expect(failure).toMatch(/^psql failed: /)
      expect(failure).not.toContain('a-row-with-data')
    }
  })
})

test.skipIf(engine === 'sqlite')('no command line of a backup or a restore has the password', async () => {
  const mahi = new Installation()
  await fillDatabase(mahi.databaseUrl)
  const address = new URL(mahi.databaseUrl)
  // A server that trusts its users asks for none.
  address.password ||= 'not-shown'
  const folder = temporaryFolder()
  const log = join(folder, 'command-lines')
  for (const program of ['pg_dump', 'pg_restore', 'psql']) {
    const found = (process.env.PATH ?? '').split(delimiter).find((each) => existsSync(join(each, program)))
    const script = `#!/bin/sh\nprintf '%s\\n' "${program} $*" >> "${log}"\nexec "${found}/${program}" "$@"\n`
    writeFileSync(join(folder, program), script, { mode: 0o700 })
  }
  const environment = {
    DATABASE_URL: address.toString(),
    PATH: [folder, dirname(process.execPath), process.env.PATH].join(delimiter),
  }
  const file = join(folder, 'mahi.backup')
  await mahi.runJson(['backup', file], { environment })
  await mahi.runJson(['restore', file, '--replace'], { environment })
  const lines = readFileSync(log, 'utf8')
  for (const program of ['pg_dump', 'pg_restore', 'psql']) expect(lines).toContain(`${program} --`)
  expect(lines).not.toContain(`:${address.password}@`)
  expect(lines).not.toContain('password=')
})

describe('backup --keep', () => {
  test('keeps the newest of a series, and touches no other file', async () => {
    const mahi = await new Installation().migrate()
    const folder = join(temporaryFolder(), 'backups')
    const first = await backUpSeries(mahi.databaseUrl, folder, 2, new Date('2026-01-01T02:30:00.123Z'))
    expect(first).toMatchObject({ file: join(folder, 'mahi-20260101T023000Z.backup'), removed: [] })
    writeFileSync(join(folder, 'mahi-before-the-move.backup'), 'mine')
    await backUpSeries(mahi.databaseUrl, folder, 2, new Date('2026-01-02T02:30:00Z'))
    const { file, removed } = (await mahi.runJson(['backup', '--keep', '2', folder])) as SeriesBackup
    expect(removed).toEqual(['mahi-20260101T023000Z.backup'])
    expect(readdirSync(folder).sort()).toEqual(
      ['mahi-20260102T023000Z.backup', basename(file), 'mahi-before-the-move.backup'].sort(),
    )
    // A database that is away costs no backup.
    await expect(backUpSeries(`sqlite:${folder}/none.db`, folder, 1)).rejects.toThrow()
    expect(readdirSync(folder)).toHaveLength(3)
  })
})

describe('what was erased after a backup', () => {
  const publish = async (mahi: Installation, localId: string) =>
    (
      (await mahi.runJson(['results', 'publish', '--eid', '1001', '--return', localId, '-'], {
        input: `{"localId":"${localId}"}\n`,
      })) as { submissionToken: string }
    ).submissionToken

  test('stays erased after a restore, also when the database was lost', { timeout: 300_000 }, async () => {
    const mahi = new Installation()
    const [kept, known, logged] = [
      await publish(mahi, 'a'),
      await publish(mahi, 'b'),
      await publish(mahi, 'c'),
    ]
    const backup = join(temporaryFolder(), 'mahi.backup')
    await mahi.runJson(['backup', backup])
    const ERASURE_LOG = join(temporaryFolder(), 'erased.ndjson')
    await mahi.runJson(['submissions', 'delete', known])
    await mahi.runJson(['submissions', 'delete', logged], { environment: { ERASURE_LOG } })
    const log = readFileSync(ERASURE_LOG, 'utf8')
    expect(log.trim().split('\n')).toHaveLength(1)
    expect(log).not.toContain(logged)

    const readState = async (at: Installation) => {
      const { submissions } = (await at.runJson(['submissions', 'list'])) as {
        submissions: { submissionToken: string; submissionStatus: string }[]
      }
      return Object.fromEntries(
        submissions.map(({ submissionToken, submissionStatus }) => [submissionToken, submissionStatus]),
      )
    }
    expect(await mahi.runJson(['restore', '--replace', backup])).toMatchObject({ erased: 2 })
    expect(await readState(mahi)).toMatchObject({ [known]: 'Cancelled', [logged]: 'Cancelled' })
    expect((await readState(mahi))[kept]).not.toBe('Cancelled')
    await withDatabase(mahi.databaseUrl, async (database) => {
      expect([...(await readStored(database)).values()]).toEqual([[expect.stringContaining('"a"')]])
    })

    // Another database, as after the loss of the first one.
    const environment = { DATABASE_URL: temporaryDatabaseUrl(), ERASURE_LOG }
    expect(await mahi.runJson(['restore', backup], { environment })).toMatchObject({ erased: 1 })
    writeFileSync(ERASURE_LOG, 'not a log\n\n')
    const refused = await mahi.run(['restore', '--replace', backup], { environment: { ERASURE_LOG } })
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('is not a line of ERASURE_LOG'),
    ])
  })

  test('is not acknowledged unless it is recorded', async () => {
    const mahi = new Installation()
    const token = await publish(mahi, 'a')
    const environment = { ERASURE_LOG: join(temporaryFolder(), 'absent', 'erased.ndjson') }
    const { code, stderr } = await mahi.run(['submissions', 'delete', token], { environment })
    expect([code, stderr]).toEqual([1, expect.stringContaining('ERASURE_LOG cannot be written (ENOENT)')])
    await withDatabase(mahi.databaseUrl, async (database) => {
      expect(await database.all('select ended from submission')).toEqual([{ ended: null }])
    })
  })
})

test('a file that cannot be read is reported in one sentence', async () => {
  const { code, stderr } = await new Installation().run(['restore', temporaryFolder()])
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^.* is a folder\. Name a backup in it\. Nothing was changed: nothing was restored, and the service can continue\.\n$/,
    ),
  ])
})
