/**
 * `npm run test:long [-- PART...]`: what a maintainer runs before a release, and what takes minutes or luck. It goes on after
 * a failure, and writes a report in Markdown; it exits with 1 if a part failed, or a test passed only in its second try.
 * `--small` runs the parts that make sense in seconds, with fixed seeds, so that only a fault can fail them.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Command, listParts } from './parts.ts'

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    small: { type: 'boolean', default: false },
    /** Chooses the cases of properties, the requests of the fuzzer and the moments of kills. */
    seed: { type: 'string' },
    report: { type: 'string', default: 'var/long-report.md' },
  },
})
const root = join(import.meta.dirname, '../..')
const seed = flags.small ? 1 : Number(flags.seed ?? randomInt(2 ** 31))
const all = listParts(seed)
const unknown = names.filter((name) => !all.some((part) => part.name === name))
if (unknown.length > 0)
  throw new Error(
    `no part is called ${unknown.join(' or ')}: there are ${all.map(({ name }) => name).join(', ')}`,
  )

const retried = join(root, 'var/retried.txt')
mkdirSync(dirname(retried), { recursive: true })
rmSync(retried, { force: true })
const rows: string[] = []
let failed = false
for (const { name, promise, full, small } of all) {
  const commands = flags.small ? small : full
  if (commands === undefined || (names.length > 0 && !names.includes(name))) continue
  process.stdout.write(`\n== ${name}: ${promise} (seed ${seed})\n`)
  const begun = Date.now()
  const ends = commands.map(run)
  const holds = ends.every((end) => end === 0)
  failed ||= !holds
  rows.push(
    `| ${name} | ${promise} | ${holds ? 'holds' : `**fails** (exit ${ends.join(', ')})`} | ${minutes(begun)} |`,
  )
}
const flaky = existsSync(retried) ? readFileSync(retried, 'utf8') : ''
const report = `# ${flags.small ? 'A small run' : 'A long run'}

Commit ${execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()}, ${new Date().toISOString().slice(0, 10)}, seed ${seed}, ${cpus().length} x ${cpus()[0]?.model}, Node.js ${process.versions.node}.

| part | promise | result | minutes |
|---|---|---|--:|
${rows.join('\n')}

${flaky === '' ? 'No test needed a second try.' : `Passed only in its second try:\n\n${flaky}`}
`
mkdirSync(dirname(join(root, flags.report)), { recursive: true })
writeFileSync(join(root, flags.report), report)
process.stdout.write(`\n${report}`)
process.exitCode = failed || flaky !== '' ? 1 : 0

function run({ program, parameters, environment }: Command): number | null {
  const env = { ...process.env, RETRIED: retried, ...environment }
  return spawnSync(program, parameters, { cwd: root, stdio: 'inherit', env }).status
}

function minutes(begun: number): string {
  return ((Date.now() - begun) / 60_000).toFixed(1)
}
