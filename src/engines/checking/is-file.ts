import { statSync } from 'node:fs'

/** Whether a path is a file, and no link to a file that is gone. */
export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
