import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { InputRefused, refuse } from '../../foundation/faults/faults.ts'
import { quote } from '../../foundation/text/quote.ts'
import { type Row, readTable } from './table.ts'
import type { AlternateTitle } from './titles.ts'

export const OCCUPATION_FILE = 'Occupation Data.txt'
const ALTERNATE_FILE = 'Alternate Titles.txt'
const ACTIVITY_FILE = 'DWA Reference.txt'
const LINK_FILE = 'Tasks to DWAs.txt'
const RELATED_FILE = 'Related Occupations.txt'
const TASK_FILE = 'Task Statements.txt'
const ZONE_FILE = 'Job Zones.txt'
const ZONE_TEXT_FILE = 'Job Zone Reference.txt'
/** The files of a release that the import reads. */
export const RELEASE_FILES = [
  OCCUPATION_FILE,
  ALTERNATE_FILE,
  ACTIVITY_FILE,
  LINK_FILE,
  RELATED_FILE,
  TASK_FILE,
  ZONE_FILE,
  ZONE_TEXT_FILE,
]

export interface OnetTask {
  readonly statement: string
  /** `Core`, `Supplemental` or, if nobody rated the task, `n/a`. */
  readonly type: string
  /** The number of incumbents who responded about the task; 0 if nobody was asked. */
  readonly respondents: number
  /** The first day of the task's month in RFC 3339, or `''`. */
  readonly date: string
  /** The titles of detailed work activities, in the order of their links. */
  readonly activities: string[]
}

export interface OnetJobZone {
  readonly name: string
  readonly experience: string
  readonly education: string
  readonly training: string
}

/** An occupation in a release; missing texts are `''`. */
export interface OnetOccupation {
  readonly code: string
  readonly line: number
  readonly title: string
  readonly description: string
  readonly alternates: AlternateTitle[]
  /** By task ID, in file order. */
  readonly tasks: Map<string, OnetTask>
  /** The codes of related occupations of tier Primary-Short, nearest first. */
  nearest: readonly string[]
  zone: OnetJobZone | undefined
}

type Occupations = Map<string, OnetOccupation>

/**
 * Reads an unpacked O*NET text release.
 *
 * @throws {InputRefused} listing every missing file, or the first row that cannot be read or has a dangling reference
 */
export async function readRelease(folder: string): Promise<ReadonlyMap<string, OnetOccupation>> {
  await checkFolder(folder)
  const occupations = await readOccupations(join(folder, OCCUPATION_FILE))
  await readAlternates(join(folder, ALTERNATE_FILE), occupations)
  await readTasks(join(folder, TASK_FILE), occupations)
  await readLinks(join(folder, LINK_FILE), occupations, await readActivities(join(folder, ACTIVITY_FILE)))
  await readRelated(join(folder, RELATED_FILE), occupations)
  await readZones(join(folder, ZONE_FILE), occupations, await readZoneTexts(join(folder, ZONE_TEXT_FILE)))
  return occupations
}

const READ_ME = 'Read Me.txt'

/** The number of a release, such as `27.0`, from its Read Me; `undefined` if the file does not contain it. */
export async function readReleaseNumber(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, READ_ME), 'utf8').catch(() => '')
  return /O\*NET[^\w\n]{0,4} (\d+\.\d+) Database/.exec(text.slice(0, 100_000))?.[1]
}

async function checkFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  const advice = 'unpack the O*NET text release and name the folder that holds its .txt files'
  if (found === undefined) refuse({ file: folder, message: `The folder does not exist; ${advice}` })
  if (!found.isDirectory()) refuse({ file: folder, message: `is not a folder; ${advice}` })
  const files = RELEASE_FILES.map((name) => join(folder, name))
  const present = await Promise.all(files.map((file) => stat(file).catch(() => undefined)))
  const missing = files.filter((_, index) => present[index] === undefined)
  const message = 'is missing from the O*NET text release'
  if (missing.length > 0) throw new InputRefused(missing.map((file) => ({ file, message })))
}

async function readOccupations(file: string): Promise<Occupations> {
  const occupations: Occupations = new Map()
  const add = uniqueKeys(file)
  for await (const { line, cells } of readTable(file, ['O*NET-SOC Code', 'Title', 'Description'])) {
    const code = cells['O*NET-SOC Code']
    if (!/^\d\d-\d{4}\.\d\d$/.test(code)) {
      refuse({ file, line, message: `has the code ${quote(code)}; a code looks like "11-1011.00"` })
    }
    add(code, `code ${code}`, line)
    const { Title: title, Description: description } = cells
    const own = { alternates: [], tasks: new Map(), nearest: [], zone: undefined }
    occupations.set(code, { code, line, title, description, ...own })
  }
  return occupations
}

async function readAlternates(file: string, occupations: Occupations): Promise<void> {
  for await (const row of readTable(file, [
    'O*NET-SOC Code',
    'Alternate Title',
    'Short Title',
    'Source(s)',
  ])) {
    const short = row.cells['Short Title']
    const { alternates } = findOccupation(occupations, file, row)
    alternates.push({
      title: row.cells['Alternate Title'],
      ...(short !== '' && short !== 'n/a' && { short }),
      sources: row.cells['Source(s)'].split(',').length,
    })
  }
}

async function readTasks(file: string, occupations: Occupations): Promise<void> {
  const columns = ['O*NET-SOC Code', 'Task ID', 'Task', 'Task Type', 'Incumbents Responding', 'Date'] as const
  const add = uniqueKeys(file)
  for await (const row of readTable(file, columns)) {
    const { cells } = row
    const { code, tasks } = findOccupation(occupations, file, row)
    const id = cells['Task ID']
    add(`${code} ${id}`, `task ${quote(id)} of ${code}`, row.line)
    tasks.set(id, {
      statement: cells.Task,
      type: cells['Task Type'],
      respondents: /^\d+$/.test(cells['Incumbents Responding']) ? Number(cells['Incumbents Responding']) : 0,
      date: readMonth(cells.Date, file, row.line),
      activities: [],
    })
  }
}

function readMonth(text: string, file: string, line: number): string {
  if (text === '' || text === 'n/a') return ''
  const [, month, year] = /^(0[1-9]|1[0-2])\/(\d{4})$/.exec(text) ?? []
  if (year === undefined) {
    refuse({ file, line, message: `has the date ${quote(text)}; a date looks like "07/2014"` })
  }
  return `${year}-${month}-01T00:00:00.000Z`
}

async function readActivities(file: string): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>()
  const add = uniqueKeys(file)
  for await (const { line, cells } of readTable(file, ['DWA ID', 'DWA Title'])) {
    add(cells['DWA ID'], `activity ${quote(cells['DWA ID'])}`, line)
    titles.set(cells['DWA ID'], cells['DWA Title'])
  }
  return titles
}

async function readLinks(
  file: string,
  occupations: Occupations,
  titles: ReadonlyMap<string, string>,
): Promise<void> {
  for await (const row of readTable(file, ['O*NET-SOC Code', 'Task ID', 'DWA ID'])) {
    const { code, tasks } = findOccupation(occupations, file, row)
    const task = tasks.get(row.cells['Task ID'])
    if (task === undefined)
      refuseStray(file, row.line, `task ${quote(row.cells['Task ID'])} of ${code}`, TASK_FILE)
    const title = titles.get(row.cells['DWA ID'])
    if (title === undefined)
      refuseStray(file, row.line, `activity ${quote(row.cells['DWA ID'])}`, ACTIVITY_FILE)
    task.activities.push(title)
  }
}

async function readRelated(file: string, occupations: Occupations): Promise<void> {
  const columns = ['O*NET-SOC Code', 'Related O*NET-SOC Code', 'Relatedness Tier', 'Index'] as const
  const related = new Map<OnetOccupation, { code: string; index: number }[]>()
  for await (const row of readTable(file, columns)) {
    const occupation = findOccupation(occupations, file, row)
    const code = row.cells['Related O*NET-SOC Code']
    if (!occupations.has(code)) refuseStray(file, row.line, `occupation ${quote(code)}`, OCCUPATION_FILE)
    if (row.cells['Relatedness Tier'] !== 'Primary-Short') continue
    const index = Number(row.cells.Index)
    if (!Number.isInteger(index) || row.cells.Index === '') {
      const message = `has the index ${quote(row.cells.Index)}; an index must be a whole number`
      refuse({ file, line: row.line, message })
    }
    related.set(occupation, [...(related.get(occupation) ?? []), { code, index }])
  }
  for (const [occupation, others] of related) {
    occupation.nearest = others.sort((a, b) => a.index - b.index).map((other) => other.code)
  }
}

async function readZoneTexts(file: string): Promise<ReadonlyMap<string, OnetJobZone>> {
  const zones = new Map<string, OnetJobZone>()
  const columns = ['Job Zone', 'Name', 'Experience', 'Education', 'Job Training'] as const
  const add = uniqueKeys(file)
  for await (const { line, cells } of readTable(file, columns)) {
    add(cells['Job Zone'], `job zone ${quote(cells['Job Zone'])}`, line)
    const { Name: name, Experience: experience, Education: education, 'Job Training': training } = cells
    zones.set(cells['Job Zone'], { name, experience, education, training })
  }
  return zones
}

async function readZones(
  file: string,
  occupations: Occupations,
  zones: ReadonlyMap<string, OnetJobZone>,
): Promise<void> {
  const add = uniqueKeys(file)
  for await (const row of readTable(file, ['O*NET-SOC Code', 'Job Zone'])) {
    const code = row.cells['O*NET-SOC Code']
    add(code, `job zone of ${quote(code)}`, row.line)
    const occupation = findOccupation(occupations, file, row)
    const zone = zones.get(row.cells['Job Zone'])
    if (zone === undefined)
      refuseStray(file, row.line, `job zone ${quote(row.cells['Job Zone'])}`, ZONE_TEXT_FILE)
    occupation.zone = zone
  }
}

function findOccupation(
  occupations: Occupations,
  file: string,
  { line, cells }: Row<'O*NET-SOC Code'>,
): OnetOccupation {
  const code = cells['O*NET-SOC Code']
  return occupations.get(code) ?? refuseStray(file, line, `occupation ${quote(code)}`, OCCUPATION_FILE)
}

/**
 * Creates a function that keeps the line of each key of a table.
 *
 * @throws {InputRefused} from that function, if a row with this key exists
 */
function uniqueKeys(file: string): (key: string, what: string, line: number) => void {
  const lines = new Map<string, number>()
  return (key, what, line) => {
    const earlier = lines.get(key)
    if (earlier !== undefined)
      refuse({ file, line, message: `repeats the ${what} of line ${earlier}; each must be unique` })
    lines.set(key, line)
  }
}

function refuseStray(file: string, line: number, what: string, where: string): never {
  const message = `refers to ${what}, which is not in '${where}'; use files of one release`
  return refuse({ file, line, message })
}
