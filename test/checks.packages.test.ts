import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Finding } from '../src/engines/checking/check-files.ts'
import { places } from './support/checking.ts'
import { InstallationHere } from './support/command-here.ts'
import { writeDefinition } from './support/definition.ts'
import { parseLines } from './support/lines.ts'
import { writeFiles } from './support/temporary.ts'

async function run(...args: string[]) {
  const { code, stdout, stderr } = await new InstallationHere().run(['check', ...args, '--format', 'ndjson'])
  return { code, stderr, found: places(parseLines<Finding>(stdout)) }
}

const SCHEMA = {
  fields: [
    { name: 'ISO3166-1-Alpha-3', type: 'string', constraints: { required: true, minLength: 3 } },
    { name: 'Population (2020)', type: 'integer' },
  ],
  primaryKey: 'ISO3166-1-Alpha-3',
}
const DATA = 'ISO3166-1-Alpha-3,Population (2020)\nNZL,5\nNZL,x\n'
const FOUND = [
  'country-codes-02-type data/country-codes.csv:3',
  'country-codes-00-key data/country-codes.csv:3',
]
const RESOURCE = { name: 'country-codes', path: 'data/country-codes.csv', schema: SCHEMA }

test.each([
  [
    'version 1',
    'datapackage.json',
    JSON.stringify({ name: 'x', profile: 'tabular-data-package', license: 'MIT', resources: [RESOURCE] }),
  ],
  [
    'version 2',
    'datapackage.json',
    JSON.stringify({
      $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
      resources: [{ ...RESOURCE, type: 'table' }],
    }),
  ],
  ['YAML', 'datapackage.yml', `name: x\nresources:\n  - ${JSON.stringify(RESOURCE)}\n`],
])('a folder with a package of %s is checked against it', async (_version, name, descriptor) => {
  const folder = writeFiles({ [name]: descriptor, 'data/country-codes.csv': DATA })
  // Its descriptor can be named instead of the folder.
  const path = name.endsWith('.yml') ? join(folder, name) : folder
  expect(await run(path)).toMatchObject({ code: 1, found: FOUND })
})

const MEMBERS = 'memberId,born,kind\nM1,x,01\n'
const LOANS = 'loanId,memberId,lent,returned,fee\n'
const OF_MEMBERS = /^MEM-02-type .*:2$/

test('names of files and columns may have another case and other separators, which notes say', async () => {
  const folder = writeFiles({
    'Members.CSV': MEMBERS.replace('memberId', 'Member ID').replace('kind', 'KIND'),
    'Book_Loans.csv': LOANS.replace('loanId', 'loan_id'),
  })
  const { code, found, stderr } = await run(folder, '--definition', writeDefinition())
  expect([code, found]).toEqual([1, ['MEM-02-type Members.CSV:2']])
  expect(stderr.split('\n').slice(0, 4)).toEqual([
    'Note: The file Book_Loans.csv was read as book-loans.csv.',
    'Note: Members.CSV: The column Member ID was read as memberId.',
    'Note: Members.CSV: The column KIND was read as kind.',
    'Note: Book_Loans.csv: The column loan_id was read as loanId.',
  ])
})

test('a name that two columns resemble is not guessed', async () => {
  const folder = writeFiles({ 'members.csv': 'member_id,Member Id,born,kind\nM1,M1,,01\n' })
  const { found } = await run(join(folder, 'members.csv'), '--definition', writeDefinition())
  expect(found).toContain('MEM-00-header members.csv:1')
})

test.each([
  ['sep=;', `sep=;\n${MEMBERS.replaceAll(',', ';')}`, 3],
  ['|', MEMBERS.replaceAll(',', '|'), 2],
  ['Windows-1252', Buffer.from(MEMBERS.replace('M1', 'M\xe9'), 'latin1'), 2],
  ['UTF-16', Buffer.from(`\ufeff${MEMBERS}`, 'utf16le'), 2],
])('%s is read', async (_form, content, line) => {
  const folder = writeFiles({ 'members.csv': content })
  const { found } = await run(join(folder, 'members.csv'), '--definition', writeDefinition())
  expect(found).toEqual([`MEM-02-type members.csv:${line}`])
})

test('--file says which file is which', async () => {
  const folder = writeFiles({ 'book-loans.csv': LOANS, 'SDR_2025.csv': MEMBERS })
  const definition = writeDefinition()
  const named = `members=${join(folder, 'SDR_2025.csv')}`
  // Also by its name in the folder that is checked.
  for (const parameters of [
    [folder, '--file', named],
    ['--file', named],
    [folder, '--file', 'members=SDR_2025.csv'],
  ]) {
    const { found } = await run(...parameters, '--definition', definition)
    expect(found).toEqual([expect.stringMatching(OF_MEMBERS)])
  }
  writeFileSync(join(folder, 'members.csv'), 'memberId,born,kind\n')
  expect((await run(folder, '--definition', definition, '--file', named)).found).toEqual([
    expect.stringMatching(OF_MEMBERS),
  ])
  expect(await run(folder, '--definition', definition, '--file', 'member=x.csv')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('x.csv: is named member, but the files are members, book-loans'),
  })
})
