import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { PROBLEMS } from '../src/http/problems.ts'
import { SETTINGS } from '../src/settings.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const list = (pattern: string) => globSync(pattern, { cwd: ROOT }).sort()

/** What there is to read: every page that a person may open first. */
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
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
    [...read(file).matchAll(/(?:name: |gauge\(\s*)'(mahi_[a-z_]+)'/g)].map(([, name]) => name),
  )
  expect(metrics).not.toEqual([])
  const section = readSection(read('docs/operations.md'), 'Metrics') ?? ''
  expect([...readRows(section).keys()].sort()).toEqual(metrics.sort())
})

interface CommandHelp {
  readonly command: string
  readonly options: readonly string[]
}

/** A command and those within it, as their help tells. */
async function readHelp(command: readonly string[]): Promise<CommandHelp[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ['bin/mahi.js', ...command, '--help'], {
    cwd: ROOT,
  })
  const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+(?: [<[]\S+)?)/gm)].map(
    ([, option = '']) => option,
  )
  const [, commands = ''] = stdout.split(/^Commands:$/m)
  const within = [...commands.matchAll(/^ {2}([a-z-]+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help')
  const help = { command: ['mahi', ...command].join(' '), options }
  return [help, ...(await Promise.all(within.map((name) => readHelp([...command, name])))).flat()]
}

test('docs/command-line.md has a section for every command, and in it every option, and no other', {
  timeout: 120_000,
}, async () => {
  const document = read('docs/command-line.md')
  const commands = await readHelp([])
  expect(commands.length).toBeGreaterThan(10)
  for (const { command, options } of commands) {
    const section = readSection(document, command)
    expect(section, `a section "${command}"`).toBeDefined()
    const listed = [...(section ?? '').matchAll(/^\| (?:`-\w`, )?`(--[^`]+)` \|/gm)].map(
      ([, option]) => option,
    )
    const own = command === 'mahi' ? options : options.filter((option) => option !== '--help')
    expect(listed.sort(), command).toEqual([...own].sort())
  }
  const headings = [...document.matchAll(/^#+ (mahi.*)$/gm)].map(([, heading]) => heading)
  expect(headings.sort()).toEqual(commands.map(({ command }) => command).sort())
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
  const made = ['dist/', 'src/database/migrations/0002-what-it-does.ts']
  expect(paths.filter((path) => !made.includes(path) && !existsSync(join(ROOT, path)))).toEqual([])
})

test('the house plan of CONTRIBUTING.md has every folder of the repository and of the sources', () => {
  const plan = readSection(read('CONTRIBUTING.md'), 'House plan') ?? ''
  const ignored = read('.gitignore').split('\n')
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

test('the README begins with the two commands', () => {
  const blocks = [...read('README.md').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) =>
    block?.trim(),
  )
  expect(blocks.slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test'])
})
