import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { matchesGlob, posix } from 'node:path'
import { expect, test } from 'vitest'
import type { Mutation } from '../tools/mutations/mutation.ts'

const root = new URL('../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

/** The wings of `src/` in the table of CONTRIBUTING.md, from top to bottom. */
const wings = [...read('CONTRIBUTING.md').matchAll(/^\| `src\/(\w+)\/` \| /gm)].map(([, name = '']) => name)

const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file.endsWith('.ts') && existsSync(new URL(file, root)))

/** The folder of a source directly below `src/`; empty for the files that compose the wings. */
const wingOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '') : '')

const imports = sources.flatMap((file) =>
  [...read(file).matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, target = '']) => ({
    file,
    target: posix.join(posix.dirname(file), target),
  })),
)

test('a wing imports only from wings below it, and nothing imports the files that compose them', () => {
  const between = imports.filter(
    ({ file, target }) => target.startsWith('src/') && wingOf(file) !== wingOf(target),
  )
  const upward = between.filter(
    ({ file, target }) => wingOf(file) !== '' && wings.indexOf(wingOf(target)) <= wings.indexOf(wingOf(file)),
  )
  expect(between.length).toBeGreaterThan(100)
  expect(upward.map(({ file, target }) => `${file} imports ${target}`)).toEqual([])
})

/** The rooms of a wing or an engine, from bottom to top; `.` is the files in no room. */
const ROOMS = {
  api: ['request', 'telemetry', 'access', 'serving', 'contract', 'reference', '.'],
  catalogue: ['records', 'groups', 'history', 'names', 'import', 'onet', 'search', 'codings', '.'],
  'engines/checking': ['process', 'definition', 'engine', 'report', 'repair', 'proposal', '.'],
  foundation: ['.', 'text', 'faults', 'schema', 'cache', 'package', 'database', 'command-line', 'jobs'],
  operate: ['organisations', '.'],
  submissions: [
    ...['rules', 'submission', 'files', 'findings', 'runs', 'retention', 'explanations', 'returns'],
    '.',
  ],
}

test.each(Object.entries(ROOMS))('a room of %s imports only from rooms below it', (house, rooms) => {
  const isIn = (file: string) => file.startsWith(`src/${house}/`)
  const roomOf = (file: string) => /^([\w-]+)\//.exec(file.slice(`src/${house}/`.length))?.[1] ?? '.'
  const inside = imports.filter(({ file, target }) => isIn(file) && isIn(target))
  expect([...new Set(sources.filter(isIn).map(roomOf))].sort()).toEqual([...rooms].sort())
  const levelOf = (file: string) => rooms.indexOf(roomOf(file))
  const upward = inside.filter(({ file, target }) => levelOf(target) > levelOf(file))
  expect(inside.length).toBeGreaterThan(10)
  expect(upward.map(({ file, target }) => `${file} imports ${target}`)).toEqual([])
})

test('no files import each other in a circle', () => {
  let left = new Set(sources)
  for (;;) {
    // What imports nothing that is left is in no circle.
    const inner = imports.filter(({ file, target }) => left.has(file) && left.has(target))
    const importing = new Set(inner.map(({ file }) => file))
    if (importing.size === left.size) break
    left = importing
  }
  expect([...left]).toEqual([])
})

test('an engine is imported through its door, and its commands by the command line only', () => {
  const engineOf = (file: string) => /^src\/engines\/\w+/.exec(file)?.[0]
  const inside = imports.filter(({ file, target }) => {
    const engine = engineOf(target)
    if (engine === undefined || engine === engineOf(file) || target === `${engine}/index.ts`) return false
    // The command starts faster without the rest of the engine.
    return wingOf(file) !== '' || !/commands\.ts$/.test(target)
  })
  expect(imports.filter(({ target }) => engineOf(target) !== undefined).length).toBeGreaterThan(50)
  expect(inside.map(({ file, target }) => `${file} imports ${target}`)).toEqual([])
})
test('the console is a client of the API: no page imports a domain, and only its sessions and drafts use the database', () => {
  const ofConsole = (file: string) => wingOf(file) === 'console'
  const allowed =
    /^src\/(?:console|api|foundation)\/|^src\/engines\/records\/index\.ts$|^client\/src\/types\.ts$/
  const foreign = imports.filter(({ file, target }) => ofConsole(file) && !allowed.test(target))
  expect(foreign.map(({ file, target }) => `${file} imports ${target}`)).toEqual([])
  const pages = sources.filter((file) => ofConsole(file) && !/\/(?:sessions|drafts)\.ts$/.test(file))
  expect(pages.length).toBeGreaterThan(20)
  expect(
    pages.filter((file) =>
      /\.(?:get|all|run|write|snapshot)[<(][^)]*['`](?:select|insert|update|delete) /i.test(read(file)),
    ),
  ).toEqual([])
  expect(
    pages.filter((file) =>
      /database\.(?:get|all|run|write|snapshot)\b|\bReader\b|\bWriter\b/.test(read(file)),
    ),
  ).toEqual([])
})

test('the service is composed by a list of at most 100 lines', () => {
  expect(read('src/app.ts').trimEnd().split('\n').length).toBeLessThanOrEqual(100)
})

/** Fields and methods of Node.js that it does not document, or whose calls by Node itself it does not document. */
const UNDOCUMENTED =
  /\._[a-z]\w*|\{ _[a-z]\w*[:,} ]|\.parser\b|\bshouldKeepAlive\b|\bhttpAllowHalfOpen\b|\bassignSocket\b|\bnode:_|\bgetOwnPropertySymbols\b|\bprocess\.binding\b|\.(?:destroy|closeIdleConnections|complete) = |removeAllListeners\('data'\)|once\('socket'/

test('undocumented behaviour of Node.js is not used', () => {
  expect(UNDOCUMENTED.test('response._header')).toBe(true)
  const found = sources.flatMap((file) => {
    const [each] = UNDOCUMENTED.exec(read(file)) ?? []
    return each === undefined ? [] : [`${file} uses ${each}`]
  })
  expect(found).toEqual([])
})

/** The wing, or the folder of a wing, whose files read and write each table. */
const OWNERS: Readonly<Record<string, string>> = {
  activity: 'submissions/submission',
  api_key: 'api/access',
  backup: 'operate',
  catalogue_revision: 'catalogue',
  collected_return: 'submissions',
  console_draft: 'console',
  console_link: 'console',
  console_session: 'console',
  file_chunk: 'submissions',
  file_record: 'submissions',
  file_version: 'submissions',
  instance: 'foundation/database',
  job: 'foundation/jobs',
  key_use: 'api/access',
  migration: 'foundation/database',
  occupation: 'catalogue',
  occupation_date: 'catalogue',
  occupation_filter: 'catalogue',
  occupation_past: 'catalogue',
  occupation_posting: 'catalogue',
  occupation_removed: 'catalogue',
  organisation_suspension: 'api/access',
  deletion: 'submissions',
  result_block: 'submissions',
  result_posting: 'submissions',
  revision: 'foundation/database',
  run_count: 'submissions/runs',
  search_failure: 'catalogue',
  search_index: 'catalogue',
  search_name: 'catalogue',
  search_synonym: 'catalogue',
  confirmed_coding: 'catalogue',
  submission: 'submissions',
  submission_cause: 'submissions/submission',
  submission_explanation: 'submissions',
  submission_file: 'submissions',
  submission_job: 'submissions',
  submission_receipt: 'submissions/explanations',
  submission_run: 'submissions',
}

test('a table is read and written by its owner only', () => {
  const schema = 'src/foundation/database/schema.ts'
  const tables = [...read(schema).matchAll(/create table (\w+)/g)].map(([, table = '']) => table)
  expect(tables.length).toBeGreaterThan(20)
  expect(tables.filter((table) => OWNERS[table] === undefined)).toEqual([])
  const used = new RegExp(
    `\\b(?:from|join|into|update|truncate) (${tables.join('|')})\\b(?! import|'| \\$)`,
    'g',
  )
  const foreign = sources
    .filter((file) => file !== schema)
    .flatMap((file) => [...read(file).matchAll(used)].map(([, table = '']) => ({ file, table })))
    .filter(({ file, table }) => !file.startsWith(`src/${OWNERS[table]}/`))
  expect([...new Set(foreign.map(({ file, table }) => `${file} uses ${table}`))]).toEqual([])
})

test('a table that is looked up by text has no prototype: a cell may be "constructor"', () => {
  const table = /const ([A-Z_]+): (?:Readonly<)?Record<string, .*> = \{/g
  const looked = sources.flatMap((file) => {
    const text = read(file)
    const names = [...text.matchAll(table)].map(([, name = '']) => name)
    return names.filter((name) => text.includes(`${name}[`)).map((name) => `${name} of ${file}`)
  })
  expect(sources.filter((file) => read(file).includes('= lookUp<')).length).toBeGreaterThan(10)
  expect(looked).toEqual([])
})

test('numbers for people are formatted by format-number.ts', () => {
  // The script of a report has nothing to import.
  const script = 'src/engines/checking/report/html-assets.ts'
  expect(sources.filter((file) => read(file).includes('.toLocaleString('))).toEqual([script])
})

test('a test that depends on the engine runs on both', () => {
  const [, list = ''] = /const onBoth = \[([^\]]+)\]/.exec(read('vitest.config.ts')) ?? []
  const patterns = [...list.matchAll(/'([^']+)'/g)].map(([, pattern = '']) => pattern)
  expect(patterns.length).toBeGreaterThan(2)
  const uses = /^import .*\b(?:engine|testOnSqlite)\b.* from '\.\.?\/support\/(?:temporary|test-where)\.ts'/m
  const dependent = readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name}`)
    .filter((file) => file.endsWith('.test.ts') && uses.test(read(file)))
  expect(dependent.length).toBeGreaterThan(10)
  expect(dependent.filter((file) => !patterns.some((pattern) => matchesGlob(file, pattern)))).toEqual([])
})

test('the text of each mutation occurs once in its file, and its test exists', async () => {
  const lists = readdirSync(new URL('tools/mutations/', root)).filter(
    (name) => !/^(?:run|mutation)\.ts$/.test(name),
  )
  const mutations = await Promise.all(
    lists.map(
      async (name): Promise<readonly Mutation[]> => (await import(`../tools/mutations/${name}`)).default,
    ),
  )
  const lost = mutations
    .flat()
    .filter(({ file, text, test }) => read(file).split(text).length !== 2 || !existsSync(new URL(test, root)))
  expect(mutations.flat().length).toBeGreaterThan(250)
  expect(lost.map(({ fault }) => fault)).toEqual([])
})
