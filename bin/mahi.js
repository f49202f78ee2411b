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
// Keeps compiled code in the system's folder for temporary files, where it may: a command then starts in half the time.
;(await import('node:module')).enableCompileCache()

var fs = await import('node:fs')
// The package holds dist/; a checkout runs its TypeScript sources as they are.
var sources = new URL('../src/cli.ts', import.meta.url)
await import(fs.existsSync(sources) ? sources.href : new URL('../dist/src/cli.js', import.meta.url).href)
