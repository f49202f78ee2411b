// Writes docs/dependencies.md: `npm run dependencies`. Reasons are written there by hand, and kept.
import { readFileSync, writeFileSync } from 'node:fs'

const DOCUMENT = new URL('../../docs/dependencies.md', import.meta.url)
const LOCK = new URL('../../package-lock.json', import.meta.url)
const MANIFEST = new URL('../../package.json', import.meta.url)

export interface LockedPackage {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly development: boolean
  readonly hasInstallScript: boolean
}

interface LockEntry {
  version?: string
  license?: string
  link?: boolean
  dev?: boolean
  devOptional?: boolean
  hasInstallScript?: boolean
}

/** Every package of package-lock.json but the project's own. */
export function readLock(): LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as { packages: Record<string, LockEntry> }
  return Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && !link)
    .map(([path, entry]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: entry.version ?? '',
      license: entry.license ?? '',
      development: entry.dev === true || entry.devOptional === true,
      hasInstallScript: entry.hasInstallScript === true,
    }))
    .sort((one, other) => compare(one.name, other.name) || compare(one.version, other.version))
}

/** The names that package.json asks for. */
export function readDirect(): { production: string[]; development: string[] } {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >
  return { production: Object.keys(dependencies), development: Object.keys(devDependencies) }
}

/** The document for these packages, with the reasons of the one before. */
export function describeDependencies(packages: readonly LockedPackage[], before: string): string {
  const { production, development } = readDirect()
  const direct = [...production, ...development]
  const reasons = readReasons(before)
  const chosen = (names: readonly string[]) =>
    table(
      ['package', 'version', 'licence', 'why'],
      packages
        .filter(({ name, development }) => names.includes(name) && (names !== production || !development))
        .map(({ name, version, license }) => [`\`${name}\``, version, license, reasons.get(name) ?? 'TO DO']),
    )
  const brought = () => {
    const others = packages.filter(({ name, development }) => !direct.includes(name) && !development)
    const licences = Map.groupBy(others, ({ license }) => license)
    return table(
      ['licence', 'packages'],
      [...licences.keys()].sort(compare).map((licence) => {
        const names = (licences.get(licence) ?? []).map(({ name, version }) => `${name} ${version}`)
        return [licence, [...new Set(names)].join(', ')]
      }),
    )
  }
  const scripts = packages.filter(({ hasInstallScript }) => hasInstallScript)
  return `# Dependencies

Every package that the project asks for and every package in production, with its version and licence. \`npm run dependencies\` generates this page and keeps the reasons, which are written by hand. A test fails if the page differs from the lock file, or if a direct dependency or an install script has no reason.

\`npm explain PACKAGE\` shows which package requires another. \`npm run sbom\` prints the production packages as a software bill of materials (CycloneDX 1.5, JSON). \`npm run audit\` asks the registry for known vulnerabilities.

## In production

The client, \`mahi-client\`, has no dependencies.

${chosen(production)}

These packages require others:

${brought()}

## In development

The package and the image contain none of these.

${chosen(development)}

## Install scripts

Production runs no install scripts: the image and the tests of the package use \`--ignore-scripts\`.

${table(
  ['package with a script', 'version', 'run here', 'why'],
  scripts.map(({ name, version }) => {
    const [run, why] = readScript(before, name)
    return [`\`${name}\``, version, run, why]
  }),
)}

\`better-sqlite3\` has no script in the lock file, but npm would compile its sources. \`allowScripts\` in \`package.json\` prevents that: the package includes binaries.
`
}

function readReasons(document: string): Map<string, string> {
  const rows = document.matchAll(/^\| `([^`]+)` \| [^|]* \| [^|]* \| ([^|]*) \|$/gm)
  return new Map(
    [...rows].map(([, name = '', reason = '']) => [name, reason]).reverse() as [string, string][],
  )
}

function readScript(document: string, name: string): [string, string] {
  const [, section = ''] = document.split('## Install scripts', 2)
  const row = section.split('\n').find((line) => line.startsWith(`| \`${name}\` |`))
  const [, , , run = 'TO DO', why = 'TO DO'] = row?.split('|').map((cell) => cell.trim()) ?? []
  return [run, why]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return lines.toSpliced(1, 0, `${'|---'.repeat(head.length)}|`).join('\n')
}

/** By code point, so that every machine has the same order. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

export function readDocument(): string {
  return readFileSync(DOCUMENT, 'utf8')
}

if (import.meta.main) writeFileSync(DOCUMENT, describeDependencies(readLock(), readDocument()))
