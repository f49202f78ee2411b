// What the package and the image leave out of the production packages. `node .ci/unused.js FOLDER` removes it from the
// node_modules of a folder.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Declarations, sources and their maps. Node.js refuses to run TypeScript in `node_modules`. */
const UNUSED_NAMES = /\.(?:map|[cm]?ts)$/
/** Builds that `import` in Node.js does not choose, sources in C, and test data. */
const UNUSED_FOLDERS = [
  '@cj-tech-master/excelts/dist/browser',
  '@cj-tech-master/excelts/dist/cjs',
  '@cj-tech-master/excelts/dist/iife',
  '@cj-tech-master/excelts/dist/types',
  'better-sqlite3/deps',
  'better-sqlite3/src',
  'better-sqlite3/binding.gyp',
  'bintrees/test',
].map((path) => join('node_modules', path))

/** Whether a file or folder is left out; its path is relative to the folder with `node_modules`. */
export function isUnused(path) {
  return UNUSED_FOLDERS.includes(path) || UNUSED_NAMES.test(path)
}

/** @throws {Error} if something that is left out is not there: then the list is out of date */
export function assertKnown(folder) {
  for (const path of UNUSED_FOLDERS) {
    if (!existsSync(join(folder, path)))
      throw new Error(`${path} is no longer there: correct UNUSED_FOLDERS in .ci/unused.js.`)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = process.argv[2] ?? '.'
  assertKnown(folder)
  const entries = readdirSync(join(folder, 'node_modules'), { recursive: true, withFileTypes: true })
  for (const { name, parentPath } of entries) {
    const path = join(parentPath, name)
    if (isUnused(relative(folder, path))) rmSync(path, { recursive: true, force: true })
  }
}
