import { createKey } from '../../src/api/access/keys.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { createSubmission } from '../../src/submissions/submission.ts'
import { compareCodes, type SampleRecord } from '../../test/support/catalogue.ts'
import { withDatabase } from '../../test/support/filled-database.ts'
import { sourceOf } from '../../test/support/service.ts'

/** What the service under test holds, and who may ask for it. */
export interface Data {
  /** In the order of the catalogue. */
  readonly records: readonly (SampleRecord & { readonly lastUpdatedDate: string })[]
  readonly submissions: ReadonlyMap<string, Submission>
  readonly keys: {
    /** Reads everything of the organisation EID. */
    readonly whole: string
    /** Lacks every scope. */
    readonly none: string
    readonly expired: string
  }
}

export interface Submission {
  readonly eid: string
  readonly returnId: string
  readonly entries: readonly Readonly<Record<string, string>>[]
}

export const CLIENT = 'fuzz'
export const EID = '1001'
export const OTHER_EID = '2002'

/** Codes that sort differently by code point and by UTF-16, need encoding, or differ in a mark alone. */
const CODES = [
  'a',
  'A',
  'ā',
  'Ā',
  'é',
  '0',
  '~',
  '\uffe6',
  '\ue000',
  '\u{10000}',
  '\u{1f600}',
  'a b',
  'a&b',
  'a%b',
  'a+b',
]
const MINORS = ['11', '12', 'mā', 'ma', 'M A&b', '\u{1f600}']
const MAJORS = ['1', '2', 'ā', 'Ā', '11']
const DATES = [
  '1970-01-01T00:00:00.000Z',
  '2024-02-29T12:00:00.500Z',
  '2025-06-30T23:59:59.999Z',
  '2026-01-31T09:30:00.000Z',
]

function makeRecords(): Data['records'] {
  const plain = Array.from({ length: 120 }, (_, index) => `C${index + 100}`)
  return [...CODES, ...plain]
    .map((occupationCode, index) => {
      const minors = MINORS.filter((_, place) => (index >> place) % 3 === 1)
      return {
        occupationCode,
        titleEnglish: `Title of ${occupationCode}`,
        ...(index % 2 === 0 && { titleMaori: 'Kaimahi pūnaha, tāngata \u{1f33f}' }),
        ...(minors.length > 0 && {
          minorGroups: minors.map((code, place) => ({
            minorGroupRelationType: place === 0 ? ('Primary' as const) : ('Secondary' as const),
            minorGroup: {
              code,
              majorGroups: [
                {
                  majorGroupRelationType: index % 5 === 0 ? ('Secondary' as const) : ('Primary' as const),
                  majorGroup: { code: MAJORS[(index + place) % MAJORS.length] ?? '' },
                },
              ],
            },
          })),
        }),
        lastUpdatedDate: DATES[index % DATES.length] ?? '',
      }
    })
    .sort((one, other) => compareCodes(one.occupationCode, other.occupationCode))
}

const entries = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    localId: `L${index}`,
    errorCode: `E${index % 7}`,
    errorDescription: 'Kāore he rā \u{1f33f}',
    errorType: index % 2 === 0 ? 'Error' : 'Warning',
    fileType: index % 3 === 0 ? 'Learner' : 'Course',
    studentId: `S${index % 5}`,
    courseCode: index % 4 === 0 ? 'mā&b' : '\u{1f600}',
  }))

/** Values that the data has, by the name of the parameter that finds them. */
export const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Cursor: [...CODES, 'C100', 'C150', 'C219'],
  'Filter.MajorGroupCode': MAJORS,
  'Filter.MinorGroupCode': MINORS,
  'Filter.LastUpdatedAfter': DATES,
  'Filter.LastUpdatedBefore': DATES,
  'Filter.Codes': [...CODES, 'C100', 'C150', 'C219'],
  'Filter.ErrorCode': ['E0', 'E3', 'E6'],
  'Filter.StudentId': ['S0', 'S4'],
  'Filter.CourseCode': ['mā&b', '\u{1f600}'],
  code: [...CODES, 'C100', 'REMOVED', ...MINORS, 'LEA-01-required'],
  q: ['title', 'kaimahi', 'punaha', 'title of c100', '\u{1f33f}'],
  Since: ['latest'],
  fileType: ['learners', 'courses', 'enrolments', 'course-completions', 'Learner'],
  runId: ['1', '2'],
  definition: ['sdr'],
  returnId: ['202512', '202412', 'R1'],
  type: ['Full', 'Indicative'],
  title: ['Title of C100', 'kaimahi'],
  localId: ['L1', 'L2', 'ā'],
  'X-Min-Revision': ['1', 'W/"1-x"', 'c1', 'r999999'],
  'If-Match': ['*', '"x"'],
  'Content-Digest': ['sha-256=:AAAA:', 'md5=:AAAA:'],
  Prefer: ['wait=0', 'respond-async', 'wait=x'],
}

/** Submissions that the requests may change; of those that are deleted none is used for anything else. */
export const OPEN_TOKENS = Array.from({ length: 24 }, (_, index) => `fuzz-open-${index}`)
export const DELETED_TOKENS = Array.from({ length: 6 }, (_, index) => `fuzz-deleted-${index}`)

/** Fills an empty database. */
export async function fill(url: string): Promise<Data> {
  const records = makeRecords()
  const submissions = new Map(
    Object.entries({
      'fuzz-none': { eid: EID, returnId: 'R0', entries: [] },
      'fuzz-few': { eid: EID, returnId: 'R1', entries: entries(7) },
      'fuzz-many': { eid: EID, returnId: 'R2', entries: entries(2500) },
      'fuzz-other': { eid: OTHER_EID, returnId: 'R3', entries: entries(3) },
    }),
  )
  return await withDatabase(url, async (database) => {
    await importOccupations(database, sourceOf(records), { keepDates: true })
    for (const [token, { eid, returnId, entries }] of submissions)
      await publishResults(database, sourceOf(entries), { token, eid, returnId })
    const day = 86_400_000
    for (const [index, token] of [...OPEN_TOKENS, ...DELETED_TOKENS].entries())
      await createSubmission(database, {
        eid: EID,
        returnId: `R${index + 100}`,
        definition: 'sdr',
        life: day,
        token,
      })
    const key = async (options: { scopes?: readonly Scope[]; expires?: number }) =>
      (await createKey(database, { client: CLIENT, eids: [EID], expires: Date.now() + day, ...options })).key
    const keys = {
      whole: await key({ scopes: ['occupations:read', 'validation-results:read', 'submissions:write'] }),
      none: await key({ scopes: [] }),
      expired: await key({ expires: Date.now() - day }),
    }
    return { records, submissions, keys }
  })
}
