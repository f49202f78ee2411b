import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { CheckRequest } from '../engine/check-files.ts'
import { CHANGES } from './changes-name.ts'
import { type Fixed, fixFiles } from './fix.ts'
import { type Marks, markFiles } from './mark.ts'

/** Which copies are made of which files. */
export interface CopyOrder {
  readonly request: CheckRequest
  /** An empty folder, which only this work uses. */
  readonly folder: string
  /** Of marked copies; others are corrected. */
  readonly marks?: Marks | undefined
  /** Whether all copies become one archive. */
  readonly isPacked: boolean
}

export interface Copies {
  readonly folder: string
  /** The names of the copies and of the list of changes there; only that of their workbook or archive. */
  readonly names: readonly string[]
  /** What was corrected, unless they are marked. */
  readonly fixed: Fixed | undefined
}

/** Marks or corrects files. */
export async function writeCopies({ request, folder, marks, isPacked }: CopyOrder): Promise<Copies> {
  const [copies, temporary] = [join(folder, 'copies'), join(folder, 'temporary')]
  for (const each of [copies, temporary]) await mkdir(each, { mode: 0o700 })
  const folders = { copies, temporary }
  const fixed = marks === undefined ? await fixFiles(request, folders) : undefined
  const names =
    marks === undefined
      ? [...(fixed?.copies.values() ?? []), CHANGES]
      : await markFiles(request, marks, folders)
  return { folder: copies, names: isPacked ? [await pack(copies, names)] : names, fixed }
}

async function pack(folder: string, names: readonly string[]): Promise<string> {
  // Only here: it is a third of what this process loads.
  const { zip } = await import('@cj-tech-master/excelts/archive')
  const [archive, packed] = [zip(), 'copies.zip']
  for (const name of names) archive.add(name, createReadStream(join(folder, name)))
  await pipeline(Readable.from(archive.stream()), createWriteStream(join(folder, packed), { mode: 0o600 }))
  return packed
}
