import { createKey } from '../../src/api/access/keys.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { createSubmission } from '../../src/submissions/submission/submission.ts'
import { withDatabase } from '../../test/support/filled-database.ts'
import { sourceOf } from '../../test/support/source.ts'

export const EID = '1001'
const DAY = 86_400_000

/** Codes that sort differently by code point and by UTF-16, need encoding, or differ in a mark only. */
const CODES = [
  ...['a', 'A', 'ā', 'Ā', 'é', '0', '~', '\uffe6', '\ue000', '\u{10000}', '\u{1f600}'],
  ...['a b', 'a&b', 'a%b', 'a+b'],
]
const MINORS = ['11', '12', 'mā', 'ma', 'M A&b', '\u{1f600}']
const MAJORS = ['1', '2', 'ā', 'Ā', '11']
const DATES = ['1970-01-01T00:00:00.000Z', '2024-02-29T12:00:00.500Z', '2026-01-31T09:30:00.000Z']

/** Submissions that the requests may change; those that are deleted are used for nothing else. */
const OPEN = Array.from({ length: 24 }, (_, index) => `fuzz-open-${index}`)
const DELETED = Array.from({ length: 6 }, (_, index) => `fuzz-deleted-${index}`)
export const FOREIGN_TOKEN = 'fuzz-other'
export const tokensOf = (operation: string): readonly string[] =>
  operation === 'deleteSubmission' ? DELETED : [...OPEN, 'fuzz-none', 'fuzz-few', 'fuzz-many']

/** Values that the data has, by the name of the parameter or field. */
export const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Cursor: [...CODES, 'C100', 'C219'],
  'Filter.MajorGroupCode': MAJORS,
  'Filter.MinorGroupCode': MINORS,
  'Filter.LastUpdatedAfter': DATES,
  'Filter.LastUpdatedBefore': DATES,
  'Filter.Codes': ['a', 'A', 'ā', 'C100', 'C150'],
  'Filter.ErrorCode': ['E0', 'E3'],
  'Filter.StudentId': ['S0', 'S4'],
  'Filter.CourseCode': ['mā&b', '\u{1f600}'],
  code: [...CODES, 'C100', 'REMOVED', ...MINORS, 'LEA-01-required'],
  q: ['title', 'kaimahi', 'punaha', 'title of c100', '\u{1f33f}'],
  Since: ['latest'],
  fileType: ['learners', 'courses', 'enrolments', 'course-completions', 'Learner'],
  runId: ['1', '2'],
  // The caller's own organisation must not be suspended.
  eid: ['2002', '3003'],
  definition: ['sdr'],
  returnId: ['202512', '202412', 'R1'],
  title: ['Title of C100', 'kaimahi'],
  localId: ['L1', 'L2', 'ā'],
  'If-Match': ['*', '"x"'],
  'Content-Digest': ['sha-256=:AAAA:', 'md5=:AAAA:'],
  Prefer: ['wait=0', 'respond-async', 'wait=x'],
}

export interface World {
  /** Has every scope of a caller, and is of the organisation EID. */
  readonly key: string
  readonly operator: string
  /** Lacks every scope. */
  readonly powerless: string
  readonly expired: string
}

function makeRecord(occupationCode: string, index: number): Record<string, unknown> {
  const minors = MINORS.filter((_, place) => (index >> place) % 3 === 1)
  return {
    occupationCode,
    titleEnglish: `Title of ${occupationCode}`,
    ...(index % 2 === 0 && { titleMaori: 'Kaimahi pūnaha, tāngata \u{1f33f}' }),
    minorGroups: minors.map((code, place) => ({
      minorGroupRelationType: place === 0 ? 'Primary' : 'Secondary',
      minorGroup: {
        code,
        majorGroups: [
          {
            majorGroupRelationType: index % 5 === 0 ? 'Secondary' : 'Primary',
            majorGroup: { code: MAJORS[(index + place) % MAJORS.length] },
          },
        ],
      },
    })),
    lastUpdatedDate: DATES[index % DATES.length],
  }
}

const makeEntries = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    localId: `L${index}`,
    errorCode: `E${index % 7}`,
    errorDescription: 'Kāore he rā \u{1f33f}',
    errorType: index % 2 === 0 ? 'Error' : 'Warning',
    fileType: index % 3 === 0 ? 'Learner' : 'Course',
    studentId: `S${index % 5}`,
    courseCode: index % 4 === 0 ? 'mā&b' : '\u{1f600}',
  }))

/** Fills an empty database. */
export async function fill(url: string): Promise<World> {
  const codes = [...CODES, ...Array.from({ length: 120 }, (_, index) => `C${index + 100}`)]
  return await withDatabase(url, async (database) => {
    await importOccupations(database, sourceOf(codes.map(makeRecord)), { keepDates: true })
    const publications = [
      ['fuzz-none', EID, 0],
      ['fuzz-few', EID, 7],
      ['fuzz-many', EID, 2500],
      [FOREIGN_TOKEN, '2002', 3],
    ] as const
    for (const [index, [token, eid, count]] of publications.entries())
      await publishResults(database, sourceOf(makeEntries(count)), { token, eid, returnId: `R${index}` })
    for (const [index, token] of [...OPEN, ...DELETED].entries())
      await createSubmission(database, {
        eid: EID,
        returnId: `${2000 + index}12`,
        definition: 'sdr',
        token,
      })
    const make = async (scopes: readonly Scope[], expires = Date.now() + DAY) =>
      (await createKey(database, { client: 'fuzz', eids: [EID], scopes, expires })).key
    const all: readonly Scope[] = [
      'occupations:read',
      'validation-results:read',
      'submissions:write',
      'codings:confirm',
    ]
    return {
      key: await make(all),
      operator: await make(['operate']),
      powerless: await make([]),
      expired: await make(all, Date.now() - DAY),
    }
  })
}
