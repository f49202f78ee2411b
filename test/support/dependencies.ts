// Writes docs/dependencies.md anew: `npm run dependencies`. Reasons are written there by hand, and kept.
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
  /** Names of what it needs. */
  readonly needs: readonly string[]
}

interface LockEntry {
  version?: string
  license?: string
  link?: boolean
  dev?: boolean
  devOptional?: boolean
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
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
      needs: Object.keys({
        ...entry.dependencies,
        ...entry.optionalDependencies,
        ...entry.peerDependencies,
      }),
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
  const parents = new Map<string, string[]>()
  for (const { name, needs } of packages) {
    for (const needed of needs) parents.set(needed, [...(parents.get(needed) ?? []), name])
  }
  const chosen = (names: readonly string[]) =>
    table(
      ['package', 'version', 'licence', 'why'],
      packages
        .filter(({ name }) => names.includes(name))
        .map(({ name, version, license }) => [`\`${name}\``, version, license, reasons.get(name) ?? 'TO DO']),
    )
  const brought = (inDevelopment: boolean) =>
    table(
      ['package', 'version', 'licence', 'needed by'],
      packages
        .filter(({ name, development }) => !direct.includes(name) && development === inDevelopment)
        .map(({ name, version, license }) => [
          `\`${name}\``,
          version,
          license,
          nameSome([...new Set(parents.get(name) ?? [])].sort(compare)),
        ]),
    )
  const scripts = packages.filter(({ hasInstallScript }) => hasInstallScript)
  return `# Dependencies

Made from \`package-lock.json\` by \`npm run dependencies\`; the reasons are written by hand. A test fails when a package, a version or a licence here is not the locked one, when a direct dependency has no reason, and when a package has an install script without being listed below.

\`npm run sbom\` prints the production packages as a software bill of materials (CycloneDX 1.5, JSON). \`npm run audit\` asks the registry for known vulnerabilities.

## In production

The client, \`mahi-client\`, has no dependency.

${chosen(production)}

## Brought along in production

${brought(false)}

## In development

None of these is in the packed package or in the image.

${chosen(development)}

## Brought along in development

Packages for other systems than the one at hand are locked too, and not installed.

${brought(true)}

## Install scripts

Production needs none: the image is built, and the packed package tested, with \`--ignore-scripts\`.

${table(
  ['package with a script', 'version', 'run here', 'why'],
  scripts.map(({ name, version }) => {
    const [run, why] = readScript(before, name)
    return [`\`${name}\``, version, run, why]
  }),
)}

\`better-sqlite3\` has no script in the lock file, but sources that npm would compile. \`allowScripts\` in \`package.json\` says no to that: it brings finished binaries.
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

function nameSome(names: readonly string[]): string {
  const some = names.slice(0, 3).map((name) => `\`${name}\``)
  return names.length > 3 ? `${some.join(', ')} and ${names.length - 3} more` : some.join(', ')
}

/** By code point, so that every machine has the same order. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

export function readDocument(): string {
  return readFileSync(DOCUMENT, 'utf8')
}

if (import.meta.main) writeFileSync(DOCUMENT, describeDependencies(readLock(), readDocument()))
