// `npm run audit`: asks the registry which of the locked packages have known vulnerabilities. One in production fails
// it, and one in development that is high or critical. A registry that does not answer, or has no such list, is no
// failure: a line says that nothing was asked.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const { stdout, error } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', timeout: 120_000 })
const report = error === undefined ? parse(stdout) : {}
if (report.vulnerabilities === undefined) {
  const reason = error?.code ?? report.error?.code ?? report.statusCode ?? 'no reason given'
  process.stderr.write(`SKIPPED: the audit of the dependencies: the registry gave no list (${reason})\n`)
} else {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  let worst = 0
  for (const { name, severity, nodes } of Object.values(report.vulnerabilities)) {
    const development = nodes.every((path) => packages[path]?.dev || packages[path]?.devOptional)
    const fails = !development || ['high', 'critical'].includes(severity)
    process.stderr.write(
      `${fails ? 'FAILS' : 'known'}: ${name}: ${severity}, ${development ? 'development' : 'production'}\n`,
    )
    if (fails) worst = 1
  }
  process.stdout.write(`${Object.keys(report.vulnerabilities).length} packages with known vulnerabilities\n`)
  process.exitCode = worst
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
