import { join } from 'node:path'
import { replaceFile } from '../../../foundation/command-line/output-file.ts'
import { type CheckRequest, type CheckSummary, type InputFile, readFindings } from '../engine/check-files.ts'
import { writeMarkedCsv } from './mark-csv.ts'
import { type Folders, nameOutside, nameUniquely, OutputFolder, replaceCopy } from './output-folder.ts'
import { RowFindings } from './row-findings.ts'
import { openSource, prepareSources } from './source-file.ts'

export type MarkFormat = 'csv' | 'xlsx'

/** The name of the workbook in the folder. */
const WORKBOOK = 'marked.xlsx'

/** The form of marked copies, and what the check of the files has found. */
export interface Marks {
  readonly format: MarkFormat
  readonly summary: CheckSummary
  /** The path of the findings as NDJSON. */
  readonly findings: string
}

/** Chooses the folder of marked copies, before anything is checked. */
export function chooseMarkFolder(
  path: string,
  files: readonly InputFile[],
  { format, overwrite }: { format: MarkFormat; overwrite: boolean },
): OutputFolder {
  const names =
    format === 'xlsx'
      ? [WORKBOOK]
      : nameUniquely(
          files.map(({ name }) => name),
          nameCopy,
        ).values()
  const inputs = files.map((file) => file.path)
  return new OutputFolder(path, [...names], { option: '--mark', inputs, overwrite })
}

/**
 * Writes a copy of each file with the findings beside each row, or one workbook with a sheet for each file.
 *
 * @returns the names of the written files; a file that cannot be read has no copy and no sheet
 */
export async function markFiles(
  { definition, files }: CheckRequest,
  { format, summary, findings }: Marks,
  { copies, temporary }: Folders,
): Promise<string[]> {
  const sources = await prepareSources(files, definition, temporary)
  const rows = new RowFindings(
    readFindings(findings),
    sources.map(({ name }) => name),
  )
  if (format === 'xlsx') {
    const { writeMarkedXlsx } = await import('./mark-xlsx.ts')
    await replaceFile(join(copies, WORKBOOK), (append) => writeMarkedXlsx(sources, summary, rows, append))
    return [WORKBOOK]
  }
  const written: string[] = []
  for (const source of sources) {
    const file = openSource(source)
    if (file === undefined) continue
    try {
      // Choosing the folder has refused copies of one name.
      const name = nameCopy(source.name)
      await replaceCopy(copies, name, (append) => writeMarkedCsv(source, file, rows, append))
      written.push(name)
    } finally {
      file.close()
    }
  }
  return written
}

/** The name of the copy of a file: without `.gz`, and `.csv` unless it is another form of separated text. */
function nameCopy(name: string): string {
  const plain = nameOutside(name).replace(/\.gz$/i, '')
  return /\.(?:csv|tsv|txt)$/i.test(plain) ? plain : `${plain.replace(/\.\w+$/, '')}.csv`
}
