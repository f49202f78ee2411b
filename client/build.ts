import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Compiles the client into a folder, emptied first. */
export function buildClient(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const tsc = join(typescript, 'bin', 'tsc')
  execFileSync(process.execPath, [tsc, '-p', import.meta.dirname, '--outDir', folder], { stdio: 'inherit' })
  // The compiler leaves .ts in declarations, which not every reader of them takes for the .d.ts beside.
  for (const name of globSync('*.d.ts', { cwd: folder })) {
    const file = join(folder, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/( from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  }
}

if (import.meta.main) buildClient(join(import.meta.dirname, 'dist'))
