import { existsSync } from 'node:fs'
import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { explainFileError } from '../../foundation/command-line/output-file.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { PACKAGE_ROOT } from '../../foundation/package/root.ts'

/** The folder of sample files as a spreadsheet program left them. */
export const EXPORTED_SAMPLE: string = locate('as-exported')
/** The folder of sample files with all kinds of faults. */
export const FAULTY_SAMPLE: string = locate('faulty')

function locate(name: string): string {
  return fileURLToPath(new URL(`samples/sdr/${name}/`, PACKAGE_ROOT))
}

/**
 * Copies the files of a sample to a folder that contains none of them.
 *
 * @returns their names
 */
export async function copySample(sample: string, folder: string): Promise<string[]> {
  const names = (await readdir(sample))
    .filter((name) => name.endsWith('.csv') && name !== 'faults.csv')
    .sort()
  const present = names.filter((name) => existsSync(join(folder, name)))
  if (present.length > 0)
    throw new UserError(`${folder} already has ${present.join(', ')}: name a new folder for the sample files`)
  try {
    makeFolder(folder)
    for (const name of names) await copyFile(join(sample, name), join(folder, name))
  } catch (error) {
    throw explainFileError(error, folder)
  }
  return names
}
