import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url)

/** Files and folders of `src/` in the table of CONTRIBUTING.md: top to bottom, those of one row side by side. */
const rows = [
  ...readFileSync(new URL('CONTRIBUTING.md', root), 'utf8').matchAll(/^\| (`src\/.*?) \| /gm),
].map(([, cell = '']) => [...cell.matchAll(/`src\/([^`/]+)\/?`/g)].map(([, name = '']) => name))
const rank = new Map(rows.flatMap((names, index) => names.map((name) => [name, index] as const)))

const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file.endsWith('.ts') && existsSync(new URL(file, root)))

/** The room of a source, which for a file directly in `src/` is the file itself. */
const roomOf = (file: string) => file.split('/')[1] ?? ''

const imports = sources.flatMap((file) =>
  [...readFileSync(new URL(file, root), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(
    ([, target = '']) => ({ file, target: posix.join(posix.dirname(file), target) }),
  ),
)

test('every room of the sources is in the table of CONTRIBUTING.md', () => {
  const unlisted = [...new Set(sources.map(roomOf))].filter((room) => !rank.has(room))
  expect(sources.length).toBeGreaterThan(50)
  expect(unlisted).toEqual([])
})

test('rooms import only from rooms below them', () => {
  const between = imports.filter(
    ({ file, target }) => target.startsWith('src/') && roomOf(file) !== roomOf(target),
  )
  const upward = between.filter(
    ({ file, target }) => (rank.get(roomOf(file)) ?? -1) >= (rank.get(roomOf(target)) ?? -1),
  )
  // The files that compose everything know each other.
  const composed = rows[0] ?? []
  const wrong = upward.filter(
    ({ file, target }) => !(composed.includes(roomOf(file)) && composed.includes(roomOf(target))),
  )
  expect(between.length).toBeGreaterThan(100)
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([])
})
