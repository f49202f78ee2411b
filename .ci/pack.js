// `npm run package`: packs Mahi into one file that installs without a network. It contains the production packages in
// the versions of package-lock.json, which `npm ci` has installed here, without the files that Mahi never loads.
// `npm run package -- FOLDER` puts it into another folder than this one.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { assertKnown, isUnused } from './unused.js'

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
// On Windows, npm is a script of the shell.
const npm = (args, cwd) =>
  execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  })
const pack = (args, cwd) =>
  Object.values(
    JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--workspaces=false', ...args], cwd)),
  )[0]

const { packages } = readJson('package-lock.json')
const production = Object.entries(packages).filter(
  ([path, { dev, devOptional, link }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link,
)

const destination = resolve(process.argv[2] ?? '.')
const stage = mkdtempSync(join(tmpdir(), 'mahi-package-'))
try {
  npm(['run', '--silent', 'build'], '.')
  const { files } = pack(['--dry-run'], '.')
  for (const { path } of files) cpSync(path, join(stage, path))
  for (const { path } of files) if (path.endsWith('.md')) unlinkMissing(path)
  assertKnown('.')
  for (const [path, { version, optional }] of production) copyPackage(path, version, optional)
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(describe(), null, 2)}\n`)
  const { filename, size, unpackedSize, bundled } = pack(['--pack-destination', destination], stage)
  process.stdout.write(
    `${filename}: ${bundled.length} bundled packages, ${megabytes(size)} packed, ${megabytes(unpackedSize)} installed\n`,
  )
} finally {
  rmSync(stage, { recursive: true, force: true })
}

/** Keeps the words of a link to a file that only the repository has. */
function unlinkMissing(path) {
  const file = join(stage, path)
  const unlink = (link, words, target) =>
    /^(?:[a-z]+:|#)/.test(target) || existsSync(join(dirname(file), target.split('#', 1)[0])) ? link : words
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, unlink))
}

/** Copies one package, but for the packages within it, which the lock file lists separately. */
function copyPackage(path, version, optional) {
  if (optional && !existsSync(path)) return
  const installed = existsSync(path) ? readJson(join(path, 'package.json')).version : 'nothing'
  if (installed !== version) throw new Error(`${path} has ${installed}, not ${version}: run npm ci.`)
  cpSync(path, join(stage, path), {
    recursive: true,
    filter: (source) => !isUnused(source) && basename(source) !== 'node_modules',
  })
}

/** The package.json of the package: exact versions, all of them bundled, and nothing that only a checkout needs. */
function describe() {
  const { scripts, devDependencies, workspaces, allowScripts, ...kept } = readJson('package.json')
  const names = Object.keys(kept.dependencies)
  const exact = names.map((name) => [name, packages[`node_modules/${name}`].version])
  return { ...kept, dependencies: Object.fromEntries(exact), bundleDependencies: names }
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
