import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type CheckRequest, type CheckSummary, type InputFile, readFindings } from '../check-files.ts'
import { CHANGES } from './changes-name.ts'
import { chooseFixFolder, type Fixed, fixFiles } from './fix.ts'
import { chooseMarkFolder, markFiles } from './mark.ts'

/** What is made of checked files: a workbook or CSV files with the findings beside each row, or corrected copies. */
export type ReturnedForm = 'workbook' | 'marked' | 'corrected'

/** What was repaired in files. */
export interface Repaired extends Pick<Fixed, 'changes' | 'groups' | 'left'> {
  /** All files: the repaired copy of each, or the file itself if nothing was repaired in it. */
  readonly files: readonly InputFile[]
}

/** What is to be done with which files. */
export interface ReturnOrder {
  readonly form: ReturnedForm | 'repaired'
  readonly request: CheckRequest
  /** The folder of the copies. */
  readonly output: string
  /** What the check of the files has found, for marked copies. */
  readonly checked?: { readonly summary: CheckSummary; readonly findings: string } | undefined
}

/**
 * Marks or corrects files.
 *
 * @returns the path of a workbook or an archive, or what was repaired
 */
export async function writeCopies({
  form,
  request,
  output,
  checked,
}: ReturnOrder): Promise<string | Repaired> {
  const { definition, files } = request
  if (checked === undefined) {
    const folder = chooseFixFolder(output, files, { overwrite: false })
    const { copies, ...fixed } = await fixFiles(request, folder)
    if (form === 'repaired') return keepUnchanged(fixed, files)
    return await pack(output, [...copies, CHANGES])
  }
  const { summary, findings } = checked
  const format = form === 'workbook' ? 'xlsx' : 'csv'
  const folder = chooseMarkFolder(output, files, { format, overwrite: false })
  const names = await markFiles(
    { summary, findings: () => readFindings(findings) },
    { format, definition, files, folder },
  )
  const [workbook] = names
  return form === 'workbook' && workbook !== undefined ? join(output, workbook) : await pack(output, names)
}

/** A file without a change stays as it is. */
function keepUnchanged({ files, changes, groups, left }: Repaired, given: readonly InputFile[]): Repaired {
  const changed = new Set(groups.map(({ file }) => file))
  return {
    files: given.map((file, index) => (changed.has(file.name) ? (files[index] ?? file) : file)),
    changes,
    groups,
    left,
  }
}

async function pack(folder: string, names: readonly string[]): Promise<string> {
  // Only here: it is a third of what this process loads.
  const { zip } = await import('@cj-tech-master/excelts/archive')
  const path = join(folder, 'copies.zip')
  const archive = zip()
  for (const name of names) archive.add(name, createReadStream(join(folder, name)))
  await pipeline(Readable.from(archive.stream()), createWriteStream(path, { mode: 0o600 }))
  return path
}
