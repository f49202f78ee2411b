import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { Installation, until } from '../support/command.ts'
import { readRepositoryFile } from '../support/deploy.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { sourceOf } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const testLitestream = testWhere(
  spawnSync('litestream', ['version']).status === 0,
  'litestream is not installed: recovery of a SQLite database to a moment',
)

testLitestream('Litestream brings a lost SQLite database back, and goes back to a moment', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'mahi.db')
  const environment = { DATABASE_URL: `sqlite:${path}` }
  const configuration = join(folder, 'litestream.yml')
  writeFileSync(
    configuration,
    readRepositoryFile('deploy/litestream/litestream.yml')
      .replace('/var/lib/mahi/mahi.db', path)
      .replace('/srv/litestream/mahi', join(folder, 'replica')),
  )
  const { headers } = await fillDatabase(environment.DATABASE_URL)
  const replicate = spawn('litestream', ['replicate', '-config', configuration], { stdio: 'ignore' })
  onTestFinished(() => void replicate.kill('SIGKILL'))
  const mahi = new Installation({ inProcesses: true })
  const server = await mahi.serve(environment)
  const write = (occupationCode: string) =>
    withDatabase(environment.DATABASE_URL, (database) =>
      importOccupations(database, sourceOf([{ occupationCode }])),
    )
  /** A copy of the state that has arrived. */
  const restoreTo = (file: string, ...options: readonly string[]) => {
    rmSync(file, { force: true })
    return spawnSync('litestream', ['restore', '-config', configuration, '-o', file, ...options, path])
  }
  const codes = async (file: string) =>
    (
      await withDatabase(`sqlite:${file}`, (database) =>
        database.all<{ code: string }>(`select code from occupation where code like 'W%' order by code`),
      )
    ).map(({ code }) => code)
  const trial = join(folder, 'trial.db')
  const whenArrived = async (code: string) => {
    await until(async () => {
      if (restoreTo(trial).status !== 0 || !existsSync(trial)) return undefined
      const arrived = await codes(trial)
      for (const suffix of ['-wal', '-shm']) rmSync(trial + suffix, { force: true })
      return arrived.includes(code)
    })
  }
  await write('W1')
  await whenArrived('W1')
  // It knows moments by the second: nothing is written in this one.
  const moment = Math.floor(Date.now() / 1000 + 1) * 1000
  await until(() => Date.now() >= moment + 1000)
  await write('W2')
  await whenArrived('W2')
  await write('W3')

  // The machine is lost with its disk.
  replicate.kill('SIGKILL')
  await once(replicate, 'exit')
  server.command.kill('SIGKILL')
  await server.command.ended
  for (const suffix of ['', '-wal', '-shm', '-litestream'])
    rmSync(path + suffix, { force: true, recursive: true })
  expect(restoreTo(path).status).toBe(0)
  const { url } = await mahi.serve(environment)
  expect((await ask(`${url}/v1/occupations/W2`, headers)).status).toBe(200)
  const kept = await codes(path)
  // A change of the last second may be lost.
  expect(['W1,W2', 'W1,W2,W3']).toContain(kept.join())

  const earlier = join(folder, 'earlier.db')
  expect(restoreTo(earlier, '-timestamp', new Date(moment).toISOString().replace('.000', '')).status).toBe(0)
  expect(await codes(earlier)).toEqual(['W1'])
})
