import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Help } from 'commander'
import { expect, test } from 'vitest'
import { PROBLEMS } from '../src/api/request/problems.ts'
import { addCommands } from '../src/commands.ts'
import { findDefinition, listChecks, loadDefinition } from '../src/engines/checking/index.ts'
import { VERSION } from '../src/foundation/package/root.ts'
import { SETTINGS } from '../src/settings.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const list = (pattern: string) => globSync(pattern, { cwd: ROOT }).sort()

/** What there is to read: every page that a person may open first. */
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...list('{bench,client,deploy,samples}/README.md'),
  ...list('docs/**/*.md'),
]

/** A document without its fenced blocks, in which nothing is a link or a heading. */
function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}

/** The first cells of the tables' rows and what stands in the cell after them. */
function readRows(text: string): Map<string, string> {
  const rows = withoutBlocks(text).matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm)
  return new Map([...rows].map(([, name = '', next = '']) => [name, next.trim()]))
}

/** The names by which headings are linked to, as forges make them. */
function readAnchors(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** The part of a document under a heading, up to the next heading of any level. */
function readSection(text: string, heading: string): string | undefined {
  const [, after] = withoutBlocks(text).split(new RegExp(`^#+ ${heading}$`, 'm'), 2)
  return after?.split(/^#+ /m, 1)[0]
}

test('docs/settings.md lists every setting with its default, and no other', () => {
  const rows = readRows(read('docs/settings.md'))
  expect(Object.fromEntries(rows)).toEqual(
    Object.fromEntries(
      Object.entries(SETTINGS).map(([name, setting]) => [
        name,
        setting.default === undefined ? 'none' : `\`${setting.default}\``,
      ]),
    ),
  )
})

test('docs/api.md lists every problem with its status, and no other', () => {
  const section = readSection(read('docs/api.md'), 'Problems') ?? ''
  const rows = [...readRows(section)].filter(([, next]) => /^\d{3}$/.test(next))
  expect(rows).toEqual(Object.entries(PROBLEMS).map(([slug, { status }]) => [slug, String(status)]))
})

test('docs/operations.md lists every metric of the service, and no other', () => {
  const metrics = list('src/**/*.ts').flatMap((file) =>
    [...read(file).matchAll(/(?:name: |(?:gauge|counter|histogram|info)\(\s*)'(mahi_[a-z_]+)'/g)].map(
      ([, name]) => name,
    ),
  )
  expect(metrics).not.toEqual([])
  const section = readSection(read('docs/operations.md'), 'Metrics') ?? ''
  expect([...readRows(section).keys()].sort()).toEqual(metrics.sort())
})

interface CommandHelp {
  readonly command: string
  readonly options: readonly string[]
}

/** A command and its subcommands. */
function listCommands(command: Command, parent = ''): CommandHelp[] {
  const name = `${parent}${command.name()}`
  const help = new Help()
  const options = help.visibleOptions(command).map(({ flags }) => flags.slice(flags.indexOf('--')))
  const within = help.visibleCommands(command).filter((each) => each.name() !== 'help')
  return [{ command: name, options }, ...within.flatMap((each) => listCommands(each, `${name} `))]
}

test('a command that is loaded alone is the command of the help', async () => {
  const all = new Command('mahi')
  await addCommands(all, undefined)
  const names = listCommands(all).map(({ command }) => command)
  expect(names.length).toBeGreaterThan(10)
  for (const each of all.commands) {
    const alone = new Command('mahi')
    await addCommands(alone, each.name())
    const loaded = alone.commands.find((command) => command.name() === each.name())
    expect(loaded && listCommands(loaded), each.name()).toEqual(listCommands(each))
    expect(alone.commands.length, each.name()).toBeLessThan(all.commands.length)
  }
})

test('docs/command-line.md has a section for every command, and in it every option, and no other', async () => {
  const document = read('docs/command-line.md')
  const program = new Command('mahi').version(VERSION)
  await addCommands(program, undefined)
  const commands = listCommands(program)
  expect(commands.length).toBeGreaterThan(10)
  for (const { command, options } of commands) {
    const section = readSection(document, command)
    expect(section, `a section "${command}"`).toBeDefined()
    const listed = [...(section ?? '').matchAll(/^- (?:`-\w`, )?`(--[^`]+)`: /gm)].map(([, option]) => option)
    // Said once at the top, unless there is more to say about a command.
    const isCommon = (option: string) =>
      option === '--json' ? !listed.includes(option) : option === '--help' && command !== 'mahi'
    const own = options.filter((option) => !isCommon(option))
    expect(listed.sort(), command).toEqual(own.sort())
  }
  const headings = [...document.matchAll(/^#+ (mahi.*)$/gm)].map(([, heading]) => heading)
  expect(headings.sort()).toEqual(commands.map(({ command }) => command).sort())
})

test('every code that a document or an example explains is a warning of sdr', () => {
  const checks = [...listChecks(loadDefinition(findDefinition('sdr')))]
  const severities = new Map(checks.map(({ check }) => [check.code, check.severity]))
  const explained = [
    ...[...DOCUMENTS, 'openapi.json'].flatMap((file) => [
      ...read(file).matchAll(
        /(?:explanations\/|mahi submissions (?:explain|withdraw) \S+ |"target": ")([A-Z]{3}-[\w-]+)/g,
      ),
    ]),
    ...read('src/remote/explain.ts').matchAll(/a code such as ([\w-]+)/g),
  ].map(([, code = '']) => code)
  expect(explained.length).toBeGreaterThan(5)
  expect(explained.filter((code) => severities.get(code) !== 'Warning')).toEqual([])
})

test.each(DOCUMENTS)('every link within the repository in %s leads somewhere', (file) => {
  const text = withoutBlocks(read(file))
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  const broken = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [path = '', anchor] = link.split('#', 2)
    const target = path === '' ? file : join(dirname(file), path)
    if (!existsSync(join(ROOT, target))) return true
    return anchor !== undefined && !readAnchors(read(target)).includes(anchor)
  })
  expect(broken).toEqual([])
})

test('every path that CONTRIBUTING.md names exists', () => {
  const paths = [
    ...read('CONTRIBUTING.md').matchAll(/`((?:[\w.-]+\/)[\w./-]*|[\w-]+\.(?:json|md|ts))`/g),
  ].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => path !== 'dist/' && !existsSync(join(ROOT, path)))).toEqual([])
})

test('the house plan of CONTRIBUTING.md has every folder of the repository and of the sources', () => {
  const plan = readSection(read('CONTRIBUTING.md'), 'House plan') ?? ''
  const ignored = read('.gitignore')
    .split('\n')
    .map((line) => line.replace(/^\//, ''))
  const folders = [...list('*/'), ...list('src/*/')]
    .map((folder) => `${folder.replace(/\/$/, '')}/`)
    .filter((folder) => folder !== 'src/' && !ignored.includes(folder))
  expect(folders.length).toBeGreaterThan(4)
  for (const folder of folders) expect(plan).toContain(`\`${folder}`)
})

test.each(DOCUMENTS)('every npm script that %s names is in package.json', (file) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const named = [...read(file).matchAll(/\bnpm (?:run (?:--\S+ )*([\w:-]+)|(start|test)\b)/g)].map(
    ([, script, own]) => script ?? own ?? '',
  )
  expect(named.filter((script) => !(script in scripts))).toEqual([])
})

test.each(['docs/security.md', 'docs/reliability.md'])(
  'every promise of %s names the tests that show it',
  (file) => {
    const promises = [
      ...(readSection(read(file), 'In short') ?? '').matchAll(/^\| (\S.+?) \| (.+) \|$/gm),
    ].slice(1)
    expect(promises.length).toBeGreaterThan(5)
    for (const [, promise, tests] of promises)
      expect(tests, promise).toMatch(/\]\(\.\.\/(?:test\/(?:\w+\/)?[\w.-]+\.test|tools\/\w+\/run)\.ts\)/)
  },
)

test('every requirement in docs/security.md has a test, or says why it has none', () => {
  const [, asvs = ''] = read('docs/security.md').split('## OWASP ASVS', 2)
  const rows = [...asvs.matchAll(/^\| [\d., to]+ \| .*$/gm)].map(([row]) => row)
  expect(rows.length).toBeGreaterThan(40)
  const shown =
    /\]\(\.\.\/test\/(?:\w+\/)?[\w.-]+\.test\.ts\)|\*\*(?:operator|not as written)\*\*|do not apply|\]\(#authorization\)/
  expect(rows.filter((row) => !shown.test(row))).toEqual([])
})
