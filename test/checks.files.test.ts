import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { InstallationHere } from './support/command-here.ts'
import { writeDefinition } from './support/definition.ts'
import { pack } from './support/pack.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'

const MEMBERS = 'memberId,born,kind\nM1,,01\nM2,,02\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,,,\n'
const CLEAN = { 'members.csv': MEMBERS, 'book-loans.csv': LOANS }

async function checkPath(path: string, ...options: string[]) {
  const { code, stdout, stderr } = await new InstallationHere().run([
    ...['check', path, '--definition', writeDefinition(), ...options],
  ])
  return { code, stdout, stderr, lines: stdout.split('\n') }
}

test.each(['members2.csv', 'members (1).csv', 'half of them.csv', 'half.txt'])(
  'a file with the columns of one that was read is the first cause: %s',
  async (name) => {
    const folder = writeFiles({ ...CLEAN, [name]: 'kind,memberId,born\n03,M3,\n' })
    const { code, lines } = await checkPath(folder)
    expect(code).toBe(1)
    expect(lines[3]).toMatch(
      `${name} has the columns of members.csv, and was not read. Put its records into members.csv, or remove it from the folder.`,
    )
    expect(lines[3]).toMatch(/^Error +members\.csv:1 +1 /)
    expect(lines.at(-2)).toBe('1 error and no warnings in the 2 files that were checked.')
  },
)

test('a file in UTF-16 is recognised by its columns, too', async () => {
  const folder = writeFiles({ ...CLEAN, 'more.csv': Buffer.from(`\ufeff${MEMBERS}`, 'utf16le') })
  expect((await checkPath(folder)).stdout).toContain('more.csv has the columns of members.csv')
})

test('corrected copies have the cause, too', async () => {
  const folder = writeFiles({ ...CLEAN, 'members2.csv': MEMBERS })
  const { code, stdout } = await checkPath(folder, '--fix', join(folder, 'fixed'))
  expect([code, stdout]).toEqual([1, expect.stringContaining('members2.csv has the columns of members.csv')])
})

test('other files, and those beside one that --file names, are only listed', async () => {
  const folder = writeFiles({ ...CLEAN, 'notes.csv': 'date,note\n', 'members2.csv': MEMBERS })
  const named = await checkPath(folder, '--file', `members=${join(folder, 'members2.csv')}`)
  expect([named.code, named.stdout]).toEqual([0, expect.stringContaining('notes.csv was not read')])
})

test('of two files that may be a missing one, neither is recommended', async () => {
  const names = ['members final v2.csv', 'members final.csv']
  const both = Object.fromEntries(names.map((name) => [name, MEMBERS]))
  const folder = writeFiles({ 'book-loans.csv': LOANS, ...both })
  const { code, stderr } = await checkPath(folder)
  expect([code, stderr]).toEqual([
    2,
    `${join(folder, 'members final.csv')}: looks like members.csv, and so does members final v2.csv; give this name to the right one, and remove the other\n`,
  ])
  // Only one of them has the columns.
  writeFileSync(join(folder, 'members final.csv'), 'a note about the members\n')
  expect((await checkPath(folder)).stdout).toContain('members final v2.csv looks like members.csv: rename it')
})

test('hidden files are no data', async () => {
  const hidden = Object.fromEntries(Object.entries(CLEAN).map(([name, text]) => [`._${name}`, text]))
  const folder = writeFiles({ ...CLEAN, ...hidden, '.members.csv': MEMBERS, '~$members.csv': 'x' })
  const { code, stdout, stderr } = await checkPath(folder)
  expect([code, stderr, stdout]).toEqual([0, '', expect.not.stringContaining('Not checked')])
})

test('a folder without the files says which of its folders has them', async () => {
  const folder = writeFiles({ 'SDR/members.csv': MEMBERS, '__MACOSX/members.csv': 'x', 'other/x.csv': '' })
  const none = `${folder}: has none of the files of the definition library`
  expect(await checkPath(folder)).toMatchObject({
    code: 2,
    stderr: `${none}, but its folder SDR has. Check ${join(folder, 'SDR')}\n`,
  })
  cpSync(join(folder, 'SDR'), join(folder, '2024'), { recursive: true })
  expect((await checkPath(folder)).stderr).toBe(
    `${none}, but its folders 2024, SDR have. Check one of them\n`,
  )
})

test('a folder or archive without the files says what it has', async () => {
  const folder = writeFiles({ 'a.csv': 'x\n', 'b.csv': 'x\n' })
  const none = 'has none of the files of the definition library'
  expect((await checkPath(folder)).stderr).toBe(
    `${folder}: ${none}: members.csv, book-loans.csv. Rename what is there: a.csv, b.csv\n`,
  )
  const inner = await pack({ 'members.csv': MEMBERS })
  writeFileSync(join(folder, 'return.zip'), inner)
  expect((await checkPath(folder)).stderr).toBe(
    `${folder}: ${none}, but it has the archive return.zip. Check ${join(folder, 'return.zip')}\n`,
  )
  const outer = join(temporaryFolder(), 'outer.zip')
  writeFileSync(outer, await pack({ 'return.zip': inner, 'readme.md': 'x' }))
  expect((await checkPath(outer)).stderr).toBe(
    `outer.zip: ${none}, but it has the archive return.zip. Unpack it, and check return.zip\n`,
  )
})

test('swapped files say what to do', async () => {
  const folder = writeFiles({ 'members.csv': LOANS, 'book-loans.csv': MEMBERS })
  expect((await checkPath(folder)).stdout).toContain(
    'Is this the file book-loans? If so, rename it to book-loans.csv.',
  )
})

test('a resource in a format that is not read is reported by name', async () => {
  const schema = { fields: [{ name: 'id' }] }
  const folder = writeFiles({
    'datapackage.json': JSON.stringify({
      resources: [
        { name: 'things', path: 'things.csv', schema },
        { name: 'places', path: 'places.geojson', schema },
      ],
    }),
    'things.csv': 'id\n1\n',
    'places.geojson': '{}',
  })
  const obstacle =
    'The resource places is in places.geojson, which is not CSV, NDJSON or XLSX, so it is not checked. Export it as CSV.'
  const run = () => new InstallationHere().run(['check', folder])
  expect(await run()).toMatchObject({ code: 0, stderr: `Note: ${obstacle}\n` })
  const only = readFileSync(join(folder, 'datapackage.json'), 'utf8').replace(/\{"name":"things".*?\}\},/, '')
  writeFileSync(join(folder, 'datapackage.json'), only)
  renameSync(join(folder, 'things.csv'), join(folder, 'things'))
  expect(await run()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`has no table that can be checked. ${obstacle}`),
  })
})
