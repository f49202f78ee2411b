import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import { tokenizer } from 'acorn'
import { checkSync } from 'recheck'
import { expect, test } from 'vitest'
import type { BuiltPattern } from '../support/built-patterns.ts'

/** Patterns above linear time whose input is bounded, with the bound. */
const BOUNDED: readonly { readonly file: string; readonly because: string }[] = [
  { file: 'src/engines/records/file-format.ts', because: 'the beginning of a file' },
  {
    file: 'src/engines/checking/definition/mutate.ts',
    because: 'the query of a rule, when its author tests it',
  },
  { file: 'src/foundation/text/format-number.ts', because: 'the digits of a number' },
]

/** Steps decide, not times, which would be others on a busy machine. */
const STEPS_ONLY = { attackTimeout: null, incubationTimeout: null, seedingTimeout: null, timeout: null }

/** Those that do not take linear time, and those that the checker cannot read. */
function findSlow(patterns: readonly Pick<BuiltPattern, 'file' | 'source' | 'flags'>[]): string[] {
  const unbounded = patterns.filter(({ file }) => !BOUNDED.some((each) => each.file === file))
  const slow = unbounded.filter(({ source, flags }) => {
    // What it does not know means the same for the time: classes in classes, and newer flags.
    const plain = source.replaceAll('[ \\t\\n\\r]]', ' \\t\\n\\r]')
    return checkSync(plain, flags.replace('v', 'u').replace('d', ''), STEPS_ONLY).status !== 'safe'
  })
  return slow.map(({ file, source, flags }) => `${file}: /${source}/${flags}`)
}

const root = new URL('../../', import.meta.url)
const texts = new Map(
  execFileSync('git', ['ls-files', 'src', 'client/src'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.[jt]s$/.test(file))
    .map((file) => [file, readFileSync(new URL(file, root), 'utf8')] as const),
)

test('every regular expression of the sources takes linear time, or has bounded input', () => {
  const literals = [...texts].flatMap(([file, text]) => {
    const code = file.endsWith('.ts') ? stripTypeScriptTypes(text) : text
    return [...tokenizer(code, { ecmaVersion: 'latest', sourceType: 'module' })]
      .filter(({ type }) => type.label === 'regexp')
      .map(({ start, end }) => ({ file, literal: code.slice(start, end) }))
  })
  const once = new Map(literals.map((each) => [each.literal, each]))
  expect(once.size).toBeGreaterThan(300)
  const patterns = [...once.values()].map(({ file, literal }) => {
    const end = literal.lastIndexOf('/')
    return { file, source: literal.slice(1, end), flags: literal.slice(end + 1) }
  })
  expect(findSlow(patterns)).toEqual([])
})

test('and so does every one that they build, also from the patterns of schemas and definitions', () => {
  const program = fileURLToPath(new URL('test/support/built-patterns.ts', root))
  const built = JSON.parse(execFileSync(process.execPath, [program], { cwd: root, encoding: 'utf8' }))
  // Those of a page run in the browser of who has typed what they read.
  const builders = [...texts]
    .filter(([file, text]) => text.includes('new RegExp(') && !file.startsWith('src/console/public/'))
    .map(([file]) => file)
  expect([...new Set(built.map(({ file }: BuiltPattern) => file))].sort()).toEqual(builders.sort())
  expect(findSlow(built)).toEqual([])
})
