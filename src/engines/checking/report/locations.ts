import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ArtifactLocation } from 'sarif'
import type { CheckedInput } from '../check-files.ts'

/** The base of relative URIs in SARIF: the folder of the command, which code scanning takes for the repository. */
export const SOURCE_ROOT = '%SRCROOT%'

/** Finds the path of a file by its name in findings. A missing file is expected beside the others. */
export function locateFiles(files: readonly CheckedInput[]): (file: string) => string {
  const paths = new Map(files.flatMap((file) => ('path' in file ? [[file.name, file.path] as const] : [])))
  const [[name, path] = ['', '']] = paths
  // The name of a file in a folder of its package has that folder.
  const folder = name.split('/').reduce(dirname, path)
  return (file) => paths.get(file) ?? join(folder, file)
}

/** The location of a file, relative to the folder of the command if it is inside of it. */
export function toArtifact(path: string): ArtifactLocation {
  const inside = relative('', path)
  if (isAbsolute(inside) || inside === '..' || inside.startsWith(`..${sep}`))
    return { uri: pathToFileURL(path).href }
  return { uri: inside.split(sep).map(encodeURIComponent).join('/'), uriBaseId: SOURCE_ROOT }
}
