import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { basename, extname, join } from 'node:path'

/** The path of LibreOffice's program, if it is installed. */
export const libreOffice = findProgram()

function findProgram(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v soffice'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

/**
 * Lets LibreOffice open a file and save it in another format, in a folder of its own.
 *
 * @param format such as `xlsx`, or with a filter and its options
 * @returns the path of the file
 */
export function saveAs(format: string, file: string, folder: string): string {
  const [extension = ''] = format.split(':')
  const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`
  const out = join(folder, `as ${extension}`)
  mkdirSync(out, { recursive: true })
  execFileSync(libreOffice ?? '', [profile, '--headless', '--convert-to', format, '--outdir', out, file], {
    stdio: 'pipe',
  })
  return join(out, `${basename(file, extname(file))}.${extension}`)
}
