import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A small separate file system, which can be filled or made read-only. */
export class SmallDisk {
  /** Where it is mounted. */
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Makes one of so many megabytes, for one test. */
  static create(megabytes: number): SmallDisk {
    const { image, folder } = mount(megabytes)
    onTestFinished(() => unmount(folder, image))
    return new SmallDisk(folder)
  }

  /** Takes all the room there is but for so many bytes. */
  fill(left = 0): void {
    const file = openSync(join(this.folder, 'filler'), 'w')
    try {
      const { bavail, bfree, bsize } = statfsSync(this.folder)
      let wanted = Math.max(bavail, bfree) * bsize - left
      for (let size = 1024 * 1024; size >= 512; ) {
        if (wanted <= 0 && left > 0) return
        try {
          wanted -= writeSync(file, Buffer.alloc(size, 1))
        } catch {
          size /= 2
        }
      }
    } finally {
      closeSync(file)
    }
  }

  /** Gives the room back. */
  empty(): void {
    rmSync(join(this.folder, 'filler'), { force: true })
  }

  /** Lets nothing be written any more, or lets it again. */
  setReadOnly(readOnly: boolean): void {
    execFileSync('mount', ['-o', `remount,${readOnly ? 'ro' : 'rw'}`, this.folder])
  }
}

function mount(megabytes: number): { image: string; folder: string } {
  const home = mkdtempSync(join(tmpdir(), 'mahi-disk-'))
  const image = join(home, 'image')
  const folder = join(home, 'disk')
  // A PostgreSQL, which is another user, may have to get at it.
  chmodSync(home, 0o755)
  mkdirSync(folder)
  closeSync(openSync(image, 'w'))
  truncateSync(image, megabytes * 1024 * 1024)
  try {
    const options = { stdio: 'pipe' as const }
    // Blocks as larger disks have them, and none kept back for root, whom the tests run as.
    const shape = ['-b', '4096', '-m', '0', '-O', '^has_journal']
    execFileSync('mkfs.ext4', ['-q', ...shape, image], options)
    execFileSync('mount', ['-o', 'loop', image, folder], options)
  } catch (error) {
    rmSync(home, { recursive: true, force: true })
    throw error
  }
  return { image, folder }
}

function unmount(folder: string, image: string): void {
  execFileSync('umount', [folder])
  rmSync(join(image, '..'), { recursive: true, force: true })
}

/** Whether a disk can be created, which requires root and a loop device. */
export const hasSmallDisk = (() => {
  if (process.getuid?.() !== 0 || spawnSync('mkfs.ext4', ['-V']).status !== 0) return false
  try {
    const { folder, image } = mount(8)
    unmount(folder, image)
    return true
  } catch (error) {
    // A program that failed; anything else is a fault of this file.
    if (error instanceof Error && 'status' in error) return false
    throw error
  }
})()
