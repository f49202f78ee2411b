import { renderAsExported } from './as-exported.ts'
import { SAMPLE } from './clean.ts'
import { FILES, formatRow, type Row } from './columns.ts'
import { Faulty } from './faulty.ts'
import { breakFields } from './field-faults.ts'
import { breakFiles, breakRules } from './rule-faults.ts'
import { makeTables, renderTable } from './small.ts'

/** The contents of a folder, by file name. */
type Folder = Record<string, string | Buffer>

/** The samples in the repository, by folder of `samples/sdr`. */
export function renderSamples(): Record<'clean' | 'faulty' | 'as-exported', Folder> {
  return { clean: renderClean(), faulty: renderFaulty(), 'as-exported': renderAsExported() }
}

function renderClean(): Folder {
  const tables = makeTables(SAMPLE)
  return Object.fromEntries(FILES.map((name) => [`${name}.csv`, renderTable(name, tables[name])]))
}

/** `faults.csv` names every finding: its code, its file and the line of the record. */
function renderFaulty(): Folder {
  const data = new Faulty()
  breakRules(data)
  breakFields(data)
  breakFiles(data)
  const folder: Folder = {}
  const lines = new Map<Row | string, number>()
  for (const file of data.files) {
    const columns = [...file.fields.map((field) => field.name), 'notes']
    const rows = data.rowsOf(file.name)
    for (const [index, row] of rows.entries()) lines.set(row, index + 2)
    const text = rows.map((row) => (typeof row === 'string' ? `${row}\n` : formatRow(columns, row)))
    folder[`${file.name}.csv`] = [header(columns), ...text].join('')
  }
  const faults = data.faults.map(({ code, file, at }) => ({
    code,
    file,
    line: at === undefined ? 1 : (lines.get(at) ?? 0),
  }))
  faults.sort(
    (a, b) => FILES.indexOf(a.file) - FILES.indexOf(b.file) || a.line - b.line || (a.code < b.code ? -1 : 1),
  )
  folder['faults.csv'] =
    `code,file,line\n${faults.map((fault) => `${fault.code},${fault.file}.csv,${fault.line}\n`).join('')}`
  return folder
}

function header(columns: readonly string[]): string {
  return `${columns.join(',')}\n`
}
