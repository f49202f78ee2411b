import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKey, listKeys, listValid } from '../src/api/access/keys.ts'
import { copyBetween } from '../src/operate/copy.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { Installation } from './support/command.ts'
import { withDatabase } from './support/opened.ts'
import { sourceOf } from './support/service.ts'
import { describeTables } from './support/state.ts'
import { readStored } from './support/stored-findings.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'

/** A database, and a copy of it as a backup restores it, before its submission, key and organisation are gone. */
async function restoreOlder() {
  const mahi = new Installation()
  const publish = async (localId: string) =>
    await withDatabase(mahi.databaseUrl, async (database) => {
      const published = await publishResults(database, sourceOf([{ localId }]), {
        eid: '1001',
        returnId: localId,
      })
      return published.submissionToken
    })
  const create = async (client: string) =>
    await withDatabase(mahi.databaseUrl, (database) =>
      createKey(database, { client, eids: ['1001'], expires: Date.now() + 86_400_000 }),
    )
  const tokens = { kept: await publish('kept'), erased: await publish('erased') }
  const keys = {
    kept: await create('kept'),
    revoked: await create('revoked'),
    rotated: await create('rotated'),
  }
  const restored = temporaryDatabaseUrl()
  await copyBetween(mahi.databaseUrl, restored)
  const ERASURE_LOG = join(mahi.folder, 'erased.ndjson')
  await mahi.runJson(['submissions', 'delete', tokens.erased], { environment: { ERASURE_LOG } })
  // The audit lines, as a collector keeps those of several processes.
  const audit = [
    (await mahi.run(['keys', 'revoke', keys.revoked.id])).stderr,
    (await mahi.run(['keys', 'rotate', keys.rotated.id, '--overlap', '0'])).stderr,
    // Its expiry stays as it is.
    (await mahi.run(['keys', 'rename', keys.kept.id, '--client', 'renamed'])).stderr,
    (await mahi.run(['organisations', 'suspend', '1001', '--reason', 'Asked for.'])).stderr,
  ]
  const log = mahi.write('service.log', audit.join('').replaceAll(/^\{/gm, 'mahi-1  | {'))
  const read = async () =>
    await withDatabase(restored, async (database) => ({
      cancelled: (
        await database.all<{ token: string }>(`select token from submission where ended = 'Cancelled'`)
      ).map(({ token }) => token),
      revoked: (await database.all<{ id: string }>('select id from api_key where revoked is not null')).map(
        ({ id }) => id,
      ),
      valid: listValid(await listKeys(database), Date.now()).map(({ id }) => id),
      suspended: await database.all<{ eid: string }>('select eid from organisation_suspension'),
      findings: [...(await readStored(database)).values()].flat().join(),
    }))
  return { mahi, tokens, keys, restored, ERASURE_LOG, log, read }
}

describe('after a restore', () => {
  test.each(['replaced database', 'logs'])('what was undone is done again, by the %s', async (source) => {
    const { mahi, tokens, keys, restored, ERASURE_LOG, log, read } = await restoreOlder()
    expect(await read()).toMatchObject({ cancelled: [], revoked: [], suspended: [] })
    const [words, environment] =
      source === 'logs' ? [['--log', log], { ERASURE_LOG }] : [['--replaced', mahi.databaseUrl], {}]
    const run = () =>
      mahi.runJson(['after-restore', ...words], { environment: { DATABASE_URL: restored, ...environment } })
    const [revoked, rotated] = [[keys.revoked.id], [keys.rotated.id]]
    expect(await run()).toEqual({ erased: 1, revoked, rotated, suspended: ['1001'] })
    const { findings, ...rest } = await read()
    expect(rest).toEqual({
      cancelled: [tokens.erased],
      revoked,
      valid: [keys.kept.id],
      suspended: [{ eid: '1001' }],
    })
    expect([findings.includes('"kept"'), findings.includes('"erased"')]).toEqual([true, false])
    // It can be repeated.
    expect(await run()).toEqual({ erased: 0, revoked: [], rotated: [], suspended: [] })
  })

  test('an organisation that was resumed stays active, and a refusal revokes nothing', async () => {
    const { mahi, keys, restored, read } = await restoreOlder()
    const input = [
      '{"level":"warn","audit":"suspended","eid":"1001"}',
      '{"level":"warn","audit":"resumed","eid":"1001"}',
      `{"level":"warn","audit":"refused","reason":"revoked","key":"${keys.kept.id}"}`,
      '{"level":"warn","audit":"revoked","key":"mahi_00000000000f"}',
      'not a line of ours',
    ].join('\n')
    const environment = { DATABASE_URL: restored }
    const { code, stderr } = await mahi.run(['after-restore', '--log', '-'], { input, environment })
    expect([code, stderr]).toEqual([
      0,
      'Again erased: 0 submissions. Again revoked: 0 keys. Again ending early: 0 rotated keys. Again suspended: 0 organisations.\nNeither --replaced nor ERASURE_LOG is given, so erased submissions may be back.\n',
    ])
    expect(await read()).toMatchObject({ cancelled: [], revoked: [], suspended: [] })
    expect((await mahi.run(['after-restore'], { environment })).stderr).toContain(
      'Neither --replaced nor --log is given, so revoked and rotated keys and suspended organisations may be back.',
    )
  })

  test('a source that cannot be read ends it in one sentence, and nothing is changed', async () => {
    const { mahi, restored, log } = await restoreOlder()
    const before = await describeTables(restored)
    mahi.write('other.log', 'not a log\n\n')
    const attempts: [string[], Record<string, string>, string][] = [
      [[], { ERASURE_LOG: 'other.log' }, 'is not a line of ERASURE_LOG'],
      [[], { ERASURE_LOG: 'absent.log' }, 'ERASURE_LOG names absent.log, which does not exist'],
      [['--log', 'absent.log'], {}, '--log "absent.log" does not exist'],
      [['--log', log, '--replaced', restored], {}, 'name the same database'],
      // A file by another name.
      [['--replaced', restored.replace(/(?<=^sqlite:.*)\/(?=[^/]*$)/, '/./')], {}, 'name the same database'],
      [['--replaced', `sqlite:${mahi.folder}/absent.db`], {}, 'absent.db does not exist. Check --replaced\n'],
      [[], { DATABASE_URL: `sqlite:${mahi.folder}/absent.db` }, 'does not exist. Check DATABASE_URL'],
    ]
    for (const [words, environment, says] of attempts) {
      const outcome = await mahi.run(['after-restore', ...words], {
        environment: { DATABASE_URL: restored, ...environment },
      })
      expect([words, outcome.code, outcome.stderr]).toEqual([words, 1, expect.stringContaining(says)])
      expect(outcome.stderr.trim().split('\n')).toHaveLength(1)
    }
    expect(existsSync(join(mahi.folder, 'absent.db'))).toBe(false)
    expect(await describeTables(restored)).toEqual(before)
  })

  test.skipIf(engine !== 'sqlite')('a backup that was cut off, or is none, is refused', async () => {
    const { mahi } = await restoreOlder()
    await mahi.runJson(['backup', 'whole.backup'])
    const whole = readFileSync(join(mahi.folder, 'whole.backup'))
    const file = join(mahi.folder, 'restored.db')
    // However little is missing, and however much.
    const cut = [whole.subarray(0, -1), whole.subarray(0, whole.length / 2), Buffer.alloc(0)]
    const contents = [...cut, Buffer.from('SQLite format 3\0 and then nothing')]
    for (const content of contents) {
      writeFileSync(file, content)
      const { code, stderr } = await mahi.run(['after-restore', '--replaced', mahi.databaseUrl], {
        environment: { DATABASE_URL: `sqlite:${file}` },
      })
      expect([content.length, code, stderr]).toEqual([
        content.length,
        1,
        expect.stringMatching(/restored\.db is damaged, or is not a backup of Mahi: use another backup/),
      ])
      expect(readFileSync(file)).toEqual(content)
    }
  })
})

test('an erasure is not acknowledged unless it is recorded', async () => {
  const { mahi, tokens } = await restoreOlder()
  const environment = { ERASURE_LOG: join(mahi.folder, 'absent', 'erased.ndjson') }
  const { code, stderr } = await mahi.run(['submissions', 'delete', tokens.kept], { environment })
  expect([code, stderr]).toEqual([1, expect.stringContaining('ERASURE_LOG cannot be written (ENOENT)')])
  await withDatabase(mahi.databaseUrl, async (database) => {
    const row = await database.get('select ended from submission where token = $1', [tokens.kept])
    expect(row).toEqual({ ended: null })
  })
})

test('the database that is restored is not the one that it replaces, whoever its user is', async () => {
  const mahi = new Installation()
  const environment = { DATABASE_URL: 'postgres://mahi@127.0.0.1:5432/mahi' }
  for (const replaced of ['mahi', 'postgres://mahi_owner:x@127.0.0.1/mahi', 'postgresql://127.0.0.1/mahi']) {
    const { code, stderr } = await mahi.run(['after-restore', '--replaced', replaced], { environment })
    expect([replaced, code, stderr]).toEqual([replaced, 1, expect.stringContaining('name the same database')])
  }
})
