import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tokenizer } from 'acorn'
import { checkSync } from 'recheck'
import { expect, test } from 'vitest'

/** Patterns above linear time whose input is bounded, with the bound. */
const BOUNDED: readonly { readonly file: string; readonly because: string }[] = [
  {
    file: 'src/engines/checking/definition/mutate.ts',
    because: 'the query of a rule, when its author tests it',
  },
  { file: 'src/foundation/text/format-number.ts', because: 'the digits of a number' },
]

/** What the checker cannot read; each means the same for the time that a pattern takes. */
const NEWER_FLAGS = /[vd]/g

/** Steps decide, not times, which would be others on a busy machine. */
const STEPS_ONLY = { attackTimeout: null, incubationTimeout: null, seedingTimeout: null, timeout: null }

test('every regular expression of the sources takes linear time, or has bounded input', () => {
  const root = new URL('../../', import.meta.url)
  const files = execFileSync('git', ['ls-files', 'src', 'client/src'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.[jt]s$/.test(file))
  const literals = new Map<string, string>()
  for (const file of files) {
    const text = readFileSync(new URL(file, root), 'utf8')
    const code = file.endsWith('.ts') ? stripTypeScriptTypes(text) : text
    for (const token of tokenizer(code, { ecmaVersion: 'latest', sourceType: 'module' }))
      if (token.type.label === 'regexp') literals.set(code.slice(token.start, token.end), file)
  }
  expect(literals.size).toBeGreaterThan(300)
  const slow = [...literals].filter(([literal]) => {
    const end = literal.lastIndexOf('/')
    const flags = literal.slice(end + 1).replace(NEWER_FLAGS, '')
    return checkSync(literal.slice(1, end), flags, STEPS_ONLY).status === 'vulnerable'
  })
  const unbounded = slow.filter(([, file]) => !BOUNDED.some((each) => each.file === file))
  expect(unbounded.map(([literal, file]) => `${file}: ${literal}`)).toEqual([])
})
