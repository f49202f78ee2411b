import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { suggest } from '../text/suggest.ts'
import { type Fault, UserError } from '../text/user-error.ts'
import type { CheckedInput } from './check-files.ts'
import type { Definition, Resource } from './definition/definition.ts'

const ENDING = /\.(?:csv|tsv|txt|ndjson|jsonl)(?:\.gz)?$|\.(?:xlsx|xls|ods|zip)$/i

export interface SelectedFiles {
  readonly files: CheckedInput[]
  /** Whether a folder was given, in which all files must be present. */
  readonly complete: boolean
  /** Files in a folder that are not in the definition, with suggestions. */
  readonly ignored: readonly string[]
}

/**
 * Assigns paths to the files of a definition by their names. A folder stands for its files.
 *
 * @throws {UserError} if a path does not exist, a given file is unknown, or two paths are the same file
 */
export function selectFiles(paths: readonly string[], definition: Definition): SelectedFiles {
  const faults: Fault[] = []
  const ignored: string[] = []
  const chosen = new Map<Resource, string>()
  let complete = false
  const choose = (path: string, resource: Resource) => {
    const other = chosen.get(resource)
    if (other === undefined) chosen.set(resource, path)
    else if (other === path) faults.push({ file: path, message: 'is named twice' })
    else faults.push({ file: path, message: `is ${resource.title}, and so is ${other}; name one of them` })
  }
  for (const path of paths) {
    if (!existsSync(path)) {
      faults.push({ file: path, message: 'does not exist' })
    } else if (statSync(path).isDirectory()) {
      complete = true
      for (const name of readdirSync(path).sort()) {
        if (!ENDING.test(name) || !statSync(join(path, name)).isFile()) continue
        const resource = findResource(name, definition)
        if (resource === undefined)
          ignored.push(`${name} is not a file of ${definition.name}${near(name, definition)}`)
        else choose(join(path, name), resource)
      }
    } else {
      const resource = findResource(basename(path), definition)
      if (resource !== undefined) choose(path, resource)
      else {
        const known = definition.resources.map((each) => each.path).join(', ')
        const message = `is not a file of the definition ${definition.name}${near(basename(path), definition)}; its files are ${known}`
        faults.push({ file: path, message })
      }
    }
  }
  if (faults.length === 0 && chosen.size === 0) {
    const known = definition.resources.map((each) => each.path).join(', ')
    const message = `has none of the files of the definition ${definition.name}: ${known}`
    faults.push({ file: paths.join(', '), message })
  }
  if (faults.length > 0) throw new UserError(faults)
  const files = [...chosen].map(([resource, path]) => ({
    resource: resource.name,
    name: basename(path),
    path,
  }))
  return { files, complete, ignored }
}

function near(name: string, { resources }: Definition): string {
  return suggest(
    name,
    resources.map(({ path }) => path),
  )
}

function findResource(name: string, { resources }: Definition): Resource | undefined {
  const stem = stemOf(name)
  return (
    resources.find((each) => stem === each.name || stem === stemOf(each.path)) ??
    resources.find((each) => each.fileNames.some((pattern) => matches(stem, pattern)))
  )
}

function stemOf(name: string): string {
  return name.replace(ENDING, '').toLowerCase()
}

function matches(stem: string, pattern: string): boolean {
  const parts = pattern
    .toLowerCase()
    .split('*')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(stem)
}
