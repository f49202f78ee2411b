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
function readDirect(): { production: string[]; development: string[] } {
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
  const used = table(
    ['package', 'version', 'licence', 'kept by', 'what for', 'without it'],
    packages
      .filter(({ name, development }) => production.includes(name) && !development)
      .map(({ name, version, license }) => {
        const [, , , , reason = 'TO DO', without = 'TO DO'] = readRow(before, name)
        return [`\`${name}\``, version, license, readKeeper(name), reason, without]
      }),
  )
  const tools = table(
    ['package', 'version', 'licence', 'what for'],
    packages
      .filter(({ name }) => development.includes(name))
      .map(({ name, version, license }) => {
        const [, , , reason = 'TO DO'] = readRow(before, name)
        return [`\`${name}\``, version, license, reason]
      }),
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

Every package that the project asks for and every package in production. \`npm run dependencies\` generates this page and keeps what is written by hand: what a package is for, and what would stand in its place without it. A test fails if the page differs from the lock file, or if a direct dependency or an install script has no reason.

\`npm explain PACKAGE\` shows which package requires another. \`npm run sbom\` prints the production packages as a software bill of materials (CycloneDX 1.5, JSON). \`npm run audit\` asks the registry for known vulnerabilities.

## In production

The client, \`mahi-client\`, has no dependencies. A package stays if five files use it, or if it saves some 300 lines of our own: those that fewer files import stand behind one door of ours, such as the log or the templates of the console. \`close-with-grace\`, \`lru-cache\` and \`negotiator\` save less, but know cases that we would find out one at a time.

${used}

Most of the 50 MB of \`excelts\` are builds for browsers and types, which the package of Mahi leaves out: 11 MB remain. The known alternative for workbooks with comments that are written as a stream, \`exceljs\` 4.4.0, installs 53 MB in some 190 packages; workbooks are read by our own reader in any case, which needs only the parser of XML and ZIP.

The pages of the API are those of Swagger UI. It was compared with Scalar (1.76.3) in Chromium, with scripts from the service only: 450 instead of 1,247 KB for a first visit in brotli, no inline styles, and no accessibility fault of axe with our style sheet and labels instead of 62 once a request is tried. [src/api/reference/docs.ts](../src/api/reference/docs.ts) sends its two files itself: the plugin's routes neither compress nor fit a narrow screen. \`swagger-ui-dist\` has the same files, and an install script that reports to its maker.

These packages require others:

${brought()}

## In development

The package and the image contain none of these.

${tools}

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

/** The cells of the first row of a package, as the document has them. */
function readRow(document: string, name: string): string[] {
  const row = document.split('\n').find((line) => line.startsWith(`| \`${name}\` |`))
  return (
    row
      ?.slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()) ?? []
  )
}

/** The owner of the repository of an installed package, such as `fastify`. */
function readKeeper(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
  const { repository } = JSON.parse(readFileSync(file, 'utf8')) as { repository: string | { url: string } }
  const address = typeof repository === 'string' ? repository : repository.url
  return address.split(/[/:]/).at(-2) ?? ''
}

function readScript(document: string, name: string): [string, string] {
  const [, section = ''] = document.split('## Install scripts', 2)
  const [, , run = 'TO DO', why = 'TO DO'] = readRow(section, name)
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
