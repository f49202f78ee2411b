import { spawnSync } from 'node:child_process'
import { chmodSync, truncateSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ask, Installation, MAHI } from '../support/command.ts'
import { listenOn } from '../support/connection.ts'
import { engine } from '../support/temporary.ts'
import { testOnSqlite, testWhere } from '../support/test-where.ts'

const testSqlite = testOnSqlite('a database that is a file, and whether it can be had')

/** How to run a command as a user whom rights bind: this one, or nobody where this one is root. */
const nobody = ((): { user?: number } | undefined => {
  if (process.getuid?.() !== 0) return {}
  const [user, options] = [65534, { uid: 65534, gid: 65534 }]
  return spawnSync(process.execPath, [MAHI, '--version'], options).status === 0 ? { user } : undefined
})()

/** A port that somebody else listens on. */
const takePort = () => listenOn(createServer())

// RFC 5737: an address for documents, which no machine has.
test.each([
  [['--host', '192.0.2.1'], {}, 'this machine does not have the address 192.0.2.1: choose another with HOST'],
  [
    [],
    { METRICS_PORT: '192.0.2.1:9464' },
    'this machine does not have the address 192.0.2.1: choose another with METRICS_PORT',
  ],
  [['--port', 'TAKEN'], {}, 'port TAKEN is in use by another process: choose another with PORT'],
])('an unavailable port is reported in one line: %j, %j', async (parameters, environment, message) => {
  const port = String(await takePort())
  const given = ['serve', ...parameters].map((word) => word.replace('TAKEN', port))
  expect(await new Installation({ inProcesses: true }).run(given, { environment })).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `${message.replace('TAKEN', port)}\n`,
  })
})

test('a metrics port in use does not stop the service, so that a restore can be tested beside it', async () => {
  const port = await takePort()
  const { command, url } = await new Installation({ inProcesses: true }).serve({ METRICS_PORT: `${port}` })
  expect((await ask(`${url}/livez`)).status).toBe(200)
  await command.output(
    new RegExp(`"level":"warn".*port ${port} is in use by another process, so metrics are off`),
  )
})

describe('a file that is not a database is refused in one line, and not changed', () => {
  /** What `serve` says of a database. */
  async function refuse(mahi: Installation, name: string): Promise<string> {
    const environment = { DATABASE_URL: `sqlite:${name}` }
    const { code, stdout, stderr } = await mahi.run(['serve'], { environment })
    expect([code, stdout]).toEqual([1, ''])
    return stderr
  }

  testSqlite('a file of another kind', async () => {
    const mahi = new Installation({ inProcesses: true })
    mahi.write('letter.db', 'Dear reader,\n'.repeat(1000))
    expect(await refuse(mahi, 'letter.db')).toBe(
      'letter.db is not a SQLite database. Name another file in DATABASE_URL, or move this one away\n',
    )
    expect(mahi.read('letter.db')).toBe('Dear reader,\n'.repeat(1000))
  })

  testSqlite('a file that was cut off', async () => {
    const mahi = await new Installation({ inProcesses: true }).fill([{ occupationCode: 'A1' }])
    const path = mahi.databaseUrl.slice('sqlite:'.length)
    truncateSync(path, 20_000)
    const { code, stderr } = await mahi.run(['occupations', 'export'])
    expect(code).toBe(1)
    expect(stderr).toBe(`${path} is damaged. Restore it from a backup, or move it away and import again\n`)
  })

  const testRights =
    engine === 'sqlite'
      ? testWhere(
          nobody !== undefined,
          'files that may not be written: there is no user who may not write them',
        )
      : testSqlite
  testRights('a file, or a folder, that this user may not write', async () => {
    const mahi = await new Installation({ inProcesses: true }).fill([{ occupationCode: 'A1' }])
    const path = mahi.databaseUrl.slice('sqlite:'.length)
    const complain = async (url: string) => {
      const options = { environment: { DATABASE_URL: `sqlite:${url}` }, ...nobody }
      const { code, stderr } = await mahi.run(['serve'], options)
      expect(code).toBe(1)
      return stderr
    }
    for (const folder of [mahi.folder, dirname(path)]) chmodSync(folder, 0o555)
    onTestFinished(() => {
      for (const folder of [mahi.folder, dirname(path)]) chmodSync(folder, 0o700)
    })
    chmodSync(path, 0o444)
    expect(await complain(path)).toBe(
      `${path} cannot be written. Give this user write permission for the file and its folder\n`,
    )
    expect(await complain('new.db')).toBe(
      'new.db cannot be opened. Give this user permission to create the file and its folder\n',
    )
    expect(await complain('new/new.db')).toBe(
      'new/new.db cannot be opened. Give this user permission to create the file and its folder\n',
    )
  })

  testSqlite('one that a newer version has changed', async () => {
    const mahi = await new Installation({ inProcesses: true }).fill([{ occupationCode: 'A1' }])
    const database = new Sqlite(mahi.databaseUrl.slice('sqlite:'.length))
    database.exec(`insert into migration (name, applied) values ('9999-of-the-future', 0)`)
    database.close()
    for (const parameters of [['serve'], ['migrate'], ['occupations', 'export']]) {
      const { code, stdout, stderr } = await mahi.run(parameters)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toBe(
        'The tables of this database are of another version of Mahi (9999-of-the-future). Run that version, or restore a backup\n',
      )
    }
  })
})

test('a server logs one JSON object per line, and ends with 0 when it is told to stop', async () => {
  const { command, url } = await new Installation({ inProcesses: true }).serve()
  // fetch keeps its connection.
  await fetch(`${url}/v1/occupations?key=unsaid`)
  await command.output(/"operation":"occupations"/)
  command.kill('SIGINT')
  expect(await command.ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  for (const line of command.stdout.trimEnd().split('\n')) {
    expect(JSON.parse(line)).toMatchObject({
      level: expect.stringMatching(/^(?:info|warn|error)$/),
      time: expect.any(String),
    })
  }
  expect(command.stdout).not.toContain('unsaid')
})

test('migrate brings a new database up to date, and does not change a current one', async () => {
  const mahi = new Installation({ inProcesses: true })
  const database = expect.stringMatching(/^(?:sqlite|postgres(?:ql)?):/)
  expect(await mahi.runJson(['migrate'])).toEqual({ database, current: true })
  const { code, stdout, stderr } = await mahi.run(['migrate'])
  expect([code, stdout]).toEqual([0, ''])
  expect(stderr).toMatch(/^\S+ is up to date\.\n$/)
})
