#!/usr/bin/env node
// Plain JavaScript of an old dialect on purpose: an older Node must be able to read this file far enough to
// say what is wrong, because better-sqlite3 13 crashes it and the sources use syntax that it does not know.
var major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    'mahi needs Node.js 24 or newer and this is ' +
      process.version +
      ': install a newer one from nodejs.org.\n',
  )
  process.exit(1)
}
const fs = await import('node:fs')
const os = await import('node:os')
const path = await import('node:path')

// Keeps compiled code: a command then starts in half the time. A user who can write to its folder can run code as this
// user, so the folder must belong to this user, and nobody else may write to it.
const user = process.getuid ? process.getuid() : 0
const folders = [
  () => path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'mahi'),
  // In a container, the home folder may be read-only or unknown.
  () => path.join(os.tmpdir(), `mahi-${user}`),
]
function isPrivate(nameFolder) {
  try {
    const folder = nameFolder()
    if (!path.isAbsolute(folder)) return false
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    const found = fs.lstatSync(folder)
    return found.isDirectory() && (!process.getuid || (found.uid === user && (found.mode & 0o022) === 0))
  } catch {
    return false
  }
}
if (process.env.NODE_COMPILE_CACHE === undefined) {
  const nameFolder = folders.find(isPrivate)
  const folder = nameFolder ? nameFolder() : ''
  // Child processes use it as well.
  process.env.NODE_COMPILE_CACHE = folder
  if (folder !== '') (await import('node:module')).enableCompileCache(folder)
}

// npm runs a script in the folder of its package: paths mean those of the folder where it was called.
if (process.env.npm_lifecycle_event === 'mahi' && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD)

// The package holds dist/; a checkout runs its TypeScript sources as they are.
var sources = new URL('../src/start.ts', import.meta.url)
await import(fs.existsSync(sources) ? sources.href : new URL('../dist/src/start.js', import.meta.url).href)
