// `npm run sbom`: the production packages as a software bill of materials (CycloneDX), without asking anybody.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const production = new Set()
for (const [path, { version, dev, devOptional }] of Object.entries(packages)) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  if (path.includes('node_modules/') && !dev && !devOptional) production.add(`${name}@${version}`)
}

// With --omit dev npm leaves out what development and production both need.
const flags = ['--offline', '--sbom-format', 'cyclonedx', '--package-lock-only', '--workspaces', 'false']
const bill = JSON.parse(
  execFileSync('npm', ['sbom', ...flags], {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    stdio: ['ignore', 'pipe', 'inherit'],
  }),
)
const own = bill.metadata.component['bom-ref']
bill.components = bill.components.filter((each) => production.has(each['bom-ref'].replace(/\|.*/, '')))
const kept = new Set([own, ...bill.components.map((each) => each['bom-ref'])])
bill.dependencies = bill.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) }))
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`)
