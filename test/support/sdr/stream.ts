import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Random } from '../random.ts'
import { makeCourses, makeGroups, type Size } from './clean.ts'
import { type FileName, formatRow, type Row, readFiles } from './columns.ts'
import { SDR_FILES } from './file-types.ts'

const CHUNK = 1 << 20

/** Values that break a record without breaking what refers to it. */
const BREAKS: Record<FileName, readonly [column: string, value: string][]> = {
  learners: [
    ['gender', 'X'],
    ['dateOfBirth', '31/02/1999'],
    ['permanentPostcode', '601'],
    ['citizenship', 'NZ'],
  ],
  courses: [
    ['credit', 'ten'],
    ['fundingCategory', '1P'],
    ['learningHours', ''],
  ],
  enrolments: [
    ['attendance', '4'],
    ['sourceOfFunding', '1'],
    ['eftsMonth06', '0,0417'],
    ['courseEndDate', '30/11/2025'],
    ['secondarySchoolProgramme', ''],
  ],
  'course-completions': [
    ['completionIndicator', '9'],
    ['courseEndDate', '30/11/2025'],
  ],
  'qualification-completions': [['yearRequirementsMet', '25']],
}

/** What was written. */
interface Written {
  readonly records: number
  readonly faults: number
}

/** Writes the five files in constant memory. A share of the records, from 0 to 1, has one fault each. */
export async function writeFolder(folder: string, size: Size, faulty = 0): Promise<Written> {
  mkdirSync(folder, { recursive: true })
  let [records, faults] = [0, 0]
  const random = new Random(size.seed + 2)
  const files = new Map(readFiles().map((file) => [file.name, new Writer(folder, file.name, file.fields)]))
  const write = async (name: FileName, rows: readonly Row[]) => {
    const breaks = BREAKS[name]
    for (const row of rows) {
      const fault = faulty > 0 && random.chance(faulty) ? breaks[random.below(breaks.length)] : undefined
      records++
      if (fault !== undefined) faults++
      await files.get(name)?.write(fault === undefined ? row : { ...row, [fault[0]]: fault[1] })
    }
  }
  const courses = makeCourses(size)
  await write(
    'courses',
    courses.map((course) => course.row),
  )
  for (const group of makeGroups(size, courses)) {
    await write('learners', [group.learner])
    await write('enrolments', group.enrolments)
    await write('course-completions', group.completions)
    await write('qualification-completions', group.qualifications)
  }
  for (const name of SDR_FILES) await files.get(name)?.end()
  return { records, faults }
}

class Writer {
  readonly #columns: string[]
  readonly #stream
  #buffer: string

  constructor(folder: string, name: FileName, fields: readonly { name: string }[]) {
    this.#columns = fields.map((field) => field.name)
    this.#stream = createWriteStream(join(folder, `${name}.csv`))
    this.#buffer = `${this.#columns.join(',')}\n`
  }

  async write(row: Row): Promise<void> {
    this.#buffer += formatRow(this.#columns, row)
    if (this.#buffer.length < CHUNK) return
    const room = this.#stream.write(this.#buffer)
    this.#buffer = ''
    if (!room) await once(this.#stream, 'drain')
  }

  async end(): Promise<void> {
    this.#stream.end(this.#buffer)
    await once(this.#stream, 'close')
  }
}
