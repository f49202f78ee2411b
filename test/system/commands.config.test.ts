import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { SETTINGS } from '../../src/settings.ts'
import { Installation, MAHI } from '../support/command.ts'
import { testWhere } from '../support/test-where.ts'

describe('config', () => {
  test('lists every setting, one a line, with its value, where that comes from and what it means', async () => {
    const environment = { LOG_LEVEL: 'warn', DATABASE_URL: 'postgres://mahi:secret@db/mahi' }
    const { code, stdout, stderr } = await new Installation().run(['config'], { environment })
    expect([code, stderr]).toEqual([0, ''])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => line.split(' ')[0])).toEqual(Object.keys(SETTINGS))
    expect(stdout).toMatch(/^LOG_LEVEL +warn +environment +\S.*$/m)
    expect(stdout).toMatch(/^DATABASE_URL +postgres:\/\/mahi:\*\*\*@db\/mahi +environment/m)
    const { settings } = (await new Installation().runJson(['config'])) as { settings: { name: string }[] }
    expect(settings.map(({ name }) => name)).toEqual(Object.keys(SETTINGS))
    const host = { name: 'HOST', value: '127.0.0.1', source: 'default', meaning: expect.any(String) }
    expect(settings).toContainEqual(host)
  })

  const environment = { PORT: 'eighty', LOG_LEVEL: 'loud', OCCUPATIONS_LIMIT_MAX: '0' }
  const faults = [
    'PORT must be a whole number from 0 to 65535, not "eighty"',
    'OCCUPATIONS_LIMIT_MAX must be a whole number from 1 to 1000, not "0"',
    'LOG_LEVEL must be fatal, error, warn, info, debug, trace or silent, not "loud"',
  ]

  test('lists faulty settings as well, and then names every fault', async () => {
    const { code, stdout, stderr } = await new Installation().run(['config'], { environment })
    expect(code).toBe(1)
    expect(stdout.trimEnd().split('\n')).toHaveLength(Object.keys(SETTINGS).length)
    expect(stderr.trimEnd().split('\n')).toEqual(faults)

    const json = await new Installation().run(['config', '--json'], { environment })
    expect([json.code, json.stderr]).toEqual([1, ''])
    expect(JSON.parse(json.stdout)).toMatchObject({ faults: faults.map((message) => ({ message })) })
  })

  test('names what stops the start: definitions and folders that cannot be used', async () => {
    const mahi = await new Installation().migrate()
    const environment = { DEFINITIONS: 'foo', SNAPSHOT_FOLDER: '/proc/x/y', ERASURE_LOG: '/nodir/x' }
    const config = await mahi.run(['config'], { environment })
    expect([config.code, config.stderr.trimEnd().split('\n')]).toEqual([
      1,
      [
        'ERASURE_LOG names /nodir/x, which this user cannot write to (ENOENT)',
        expect.stringMatching(
          /^SNAPSHOT_FOLDER names \/proc\/x\/y, which this user cannot write to \(E\w+\)$/,
        ),
        expect.stringMatching(/foo\/datapackage\.json: does not exist; a definition is a folder/),
      ],
    ])
    const { code, stdout } = await mahi.run(['status', '--json'], { environment })
    const bad = (JSON.parse(stdout).faults as { name: string; state: string }[])
      .filter(({ state }) => state === 'bad')
      .map(({ name }) => name)
    expect([code, bad]).toEqual([1, ['DEFINITIONS', 'ERASURE_LOG', 'SNAPSHOT_FOLDER']])
  })

  test('creates none of the folders that the service would create', async () => {
    const mahi = new Installation()
    const environment = {
      SNAPSHOT_FOLDER: 'new/snapshots',
      CHECK_FOLDER: 'new/checks',
      ERASURE_LOG: 'erased',
    }
    const { code, stderr } = await mahi.run(['config'], { environment })
    expect([code, stderr, readdirSync(mahi.folder)]).toEqual([0, '', []])
  })

  test('other commands name every fault, and do nothing', async () => {
    const { code, stdout, stderr } = await new Installation().run(['keys', 'list'], { environment })
    expect([code, stdout, stderr]).toEqual([1, '', `${faults.join('\n')}\n`])
  })
})

const LISTS = 'lists the commands)'
const DESCRIBES = 'describes its arguments and options)'
test.each([
  ['occupation', "unknown command 'occupation'\n(Did you mean occupations?)", `(mahi --help ${LISTS}`],
  ['occupation --help', "unknown command 'occupation'\n(Did you mean occupations?)", `(mahi --help ${LISTS}`],
  ['help keys nope', "unknown command 'nope'", `(mahi keys --help ${LISTS}`],
  ['keys lst', "unknown command 'lst'\n(Did you mean list?)", `(mahi keys --help ${LISTS}`],
  [
    'occupations import --replce a.csv',
    "unknown option '--replce'\n(Did you mean --replace?)",
    `(mahi occupations import --help ${DESCRIBES}`,
  ],
  ['occupations import', "missing required argument 'file'", `(mahi occupations import --help ${DESCRIBES}`],
  ['results publish -', "required option '--eid <eid>' not", `(mahi results publish --help ${DESCRIBES}`],
  ['migrate now', "too many arguments for 'migrate'", `(mahi migrate --help ${DESCRIBES}`],
])('mahi %s is refused with what would be right', async (line, message, help) => {
  const { code, stdout, stderr } = await new Installation().run(line.split(' '))
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`error: ${message}`)
  expect(stderr).toContain(help)
})

test('--version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const { code, stdout } = await new Installation({ inProcesses: true }).run(['--version'])
  expect([code, stdout]).toEqual([0, `${version}\n`])
})

const OLD_NODE = findOldNode()
const testOld = testWhere(
  OLD_NODE !== undefined,
  'an older Node: there is none at /usr/bin/node to try it with',
)

testOld('an older Node is refused in one line that says what to do', () => {
  const { status, stdout, stderr } = spawnSync(OLD_NODE ?? '', [MAHI, 'serve'], { encoding: 'utf8' })
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(
    /^mahi needs Node\.js 24 or newer and this is v\S+: install a newer one from nodejs\.org\.\n$/,
  )
})

function findOldNode(): string | undefined {
  const path = '/usr/bin/node'
  if (!existsSync(path)) return undefined
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  const major = Number(/^v(\d+)/.exec(stdout)?.[1])
  return major < 24 ? path : undefined
}
