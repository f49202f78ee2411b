/**
 * `npm run mutations [-- WORD...]`: puts each fault of the lists beside this file into a copy of the repository, one at a
 * time, and runs its test, which must fail. With words, only the faults whose list, description, file or test has one.
 * Exits with 1 if a fault survives, or if its text is no longer in its file.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutation } from './mutation.ts'

const root = join(import.meta.dirname, '../..')
const copy = mkdtempSync(join(tmpdir(), 'mahi-mutations-'))
const words = process.argv.slice(2)
const survivors: string[] = []
try {
  copyRepository()
  for (const [list, mutations] of await readLists()) {
    for (const mutation of mutations) {
      if (words.length > 0 && !words.some((word) => `${list} ${Object.values(mutation)}`.includes(word)))
        continue
      const outcome = tryMutation(mutation)
      if (outcome !== 'noticed') survivors.push(mutation.fault)
      process.stdout.write(`${outcome.padEnd(10)} ${list}: ${mutation.fault} (${mutation.test})\n`)
    }
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
process.stdout.write(`${survivors.length} faults were not noticed\n`)
process.exitCode = survivors.length === 0 ? 0 : 1

async function readLists(): Promise<[string, readonly Mutation[]][]> {
  const names = readdirSync(import.meta.dirname).filter((name) => !/^(?:run|mutation)\.ts$/.test(name))
  return await Promise.all(
    names.map(async (name): Promise<[string, readonly Mutation[]]> => {
      const { default: mutations } = (await import(`./${name}`)) as { default: readonly Mutation[] }
      return [name.replace('.ts', ''), mutations]
    }),
  )
}

/** The files as they are now, committed or not. */
function copyRepository(): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  const files = listed
    .toString()
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)))
  execFileSync('cp', ['-r', '--parents', ...files, copy], {
    cwd: root,
  })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}

function tryMutation({
  file,
  text,
  replacement,
  test,
}: Mutation): 'noticed' | 'SURVIVES' | 'MOVED' | 'BROKEN' {
  const path = join(copy, file)
  const original = readFileSync(path, 'utf8')
  if (original.split(text).length !== 2) return 'MOVED'
  writeFileSync(
    path,
    original.replace(text, () => replacement),
  )
  const engine = /postgres|partitions/.test(file + test) ? 'postgres' : 'sqlite'
  const report = join(copy, 'report.json')
  // A fault that makes a test hang is noticed, too.
  const reporting = ['--reporter', 'json', '--outputFile', report, '--bail', '1', '--testTimeout', '120000']
  const vitest = join(root, 'node_modules/.bin/vitest')
  spawnSync(vitest, ['run', '--project', engine, ...reporting, test], { cwd: copy })
  writeFileSync(path, original)
  const outcome = existsSync(report) ? judge(readFileSync(report, 'utf8')) : 'BROKEN'
  rmSync(report, { force: true })
  return outcome
}

/** A fault is noticed by an assertion: a file that does not even load says nothing about the rule. */
function judge(report: string): 'noticed' | 'SURVIVES' | 'BROKEN' {
  const { numFailedTests, numPassedTests } = JSON.parse(report) as Record<string, number>
  if ((numFailedTests ?? 0) > 0) return 'noticed'
  return (numPassedTests ?? 0) > 0 ? 'SURVIVES' : 'BROKEN'
}
