import { existsSync, readFileSync } from 'node:fs'

/** The root folder of the package. The sources run from `src/`, the built files from `dist/src/`. */
export const PACKAGE_ROOT: URL = findRoot(new URL('./', import.meta.url))

/** The version of the package. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }
).version

function findRoot(folder: URL): URL {
  if (existsSync(new URL('bin/mahi.js', folder))) return folder
  const parent = new URL('../', folder)
  if (parent.href === folder.href) throw new Error('bin/mahi.js was not found in any parent folder')
  return findRoot(parent)
}
