import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Cluster, hasCluster } from './cluster.ts'
import { hasSmallDisk, type SmallDisk } from './small-disk.ts'
import { engine } from './temporary.ts'

/** Whether a database of the engine of this run can be put on a small disk. */
export const canPlaceDatabase = hasSmallDisk && (engine === 'sqlite' || hasCluster)

/** Where the database is: a file on the disk, or a PostgreSQL that keeps its tables there. */
export async function placeDatabase(disk: SmallDisk): Promise<string> {
  if (engine === 'sqlite') return `sqlite:${disk.folder}/mahi.db`
  const cluster = await Cluster.start()
  // Before the disk goes.
  onTestFinished(() => cluster.remove())
  const location = join(disk.folder, 'tables')
  execFileSync('install', ['-d', '-o', 'postgres', location])
  await cluster.query(`create tablespace small location '${location}'`)
  await cluster.query('create database mahi tablespace small')
  return cluster.url('mahi')
}
