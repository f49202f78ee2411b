import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../foundation/make-folder.ts'
import { type Backup, backUp } from './backup.ts'

/** The names of a series' files; nothing else in the folder is ever removed. */
const NAME = /^mahi-\d{8}T\d{6}Z\.backup$/

export interface SeriesBackup extends Backup {
  /** The removed older backups of the series. */
  readonly removed: readonly string[]
}

/** One that cannot be made is reported, and recorded, as the file that cannot be written. */
function tryToMakeFolder(folder: string): void {
  try {
    makeFolder(folder, 0o700)
  } catch {}
}

/**
 * Writes a backup with a timestamp in its name into a folder, then removes all but the newest ones of the series. A
 * failed backup removes nothing.
 *
 * @param keep how many backups to keep, at least 1
 */
export async function backUpSeries(
  url: string,
  folder: string,
  keep: number,
  now = new Date(),
): Promise<SeriesBackup> {
  tryToMakeFolder(folder)
  const time = now.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')
  const backup = await backUp(url, join(folder, `mahi-${time}.backup`))
  const removed = readdirSync(folder)
    .filter((name) => NAME.test(name))
    .sort()
    .reverse()
    .slice(keep)
  for (const name of removed) rmSync(join(folder, name))
  return { ...backup, removed }
}
