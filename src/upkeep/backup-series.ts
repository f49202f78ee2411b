import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Backup, backUp } from './backup.ts'

/** What a series names its files, so that nothing else in the folder is ever removed. */
const NAME = /^mahi-\d{8}T\d{6}Z\.backup$/

export interface SeriesBackup extends Backup {
  /** Older backups of the series that were removed. */
  readonly removed: readonly string[]
}

/**
 * Writes a backup that is named after the time into a folder, and then removes all but the newest of the series. A
 * backup that fails removes nothing.
 *
 * @param keep how many stay, from 1
 */
export async function backUpSeries(
  url: string,
  folder: string,
  keep: number,
  now = new Date(),
): Promise<SeriesBackup> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
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
