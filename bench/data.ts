import { FILE_TYPES } from '../src/engines/checking/index.ts'
import type { SourceRecord } from '../src/engines/records/source-record.ts'
import { Random } from '../test/support/random.ts'

/** Repeatable numbers in [0, 1). */
export function seeded(seed: number): () => number {
  const random = new Random(seed)
  return () => random.fraction()
}

const WORDS =
  'plan build check record advise teach measure repair design arrange prepare report test train manage care support materials equipment people records services safety quality tools customers students patients reports budgets machines buildings animals plants schedules standards with for and of the in at new local daily careful regular technical public'.split(
    ' ',
  )

/** Dates lie within these five years, each its own, so that windows of any width can be asked for. */
export const FIRST_DATE = Date.parse('2020-01-01T00:00:00Z')
export const LAST_DATE = Date.parse('2025-01-01T00:00:00Z')

const MAJOR_GROUPS = 10
export const MINOR_GROUPS = 100

/** Occupation records of 3 to 5 KB, in the order of their codes; every third one has a macron in it. */
export async function* generateOccupations(count: number): AsyncGenerator<SourceRecord> {
  const random = seeded(20260101)
  const pick = (words: number) =>
    Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ')
  const sentences = (number: number, words: number) => Array.from({ length: number }, () => `${pick(words)}.`)
  for (let index = 0; index < count; index++) {
    const minor = Math.floor(random() * MINOR_GROUPS)
    const related = Math.floor(random() * MINOR_GROUPS)
    const low = 45_000 + Math.floor(random() * 40_000)
    yield {
      file: 'generated',
      line: index + 1,
      value: {
        occupationCode: `O${String(index).padStart(7, '0')}`,
        titleEnglish: pick(3),
        ...(index % 3 === 0 ? { titleMaori: 'Kaiako', titlePluralMaori: 'Ngā kaiako' } : {}),
        titlePluralEnglish: pick(3),
        altJobTitlesEnglish: sentences(3 + Math.floor(random() * 5), 3),
        descriptionEnglish: sentences(4, 12).join(' '),
        detailedWorkActivitiesEnglish: sentences(6 + Math.floor(random() * 8), 9),
        trainingDuration: pick(8),
        lifeOnTheJobEnglish: sentences(8 + Math.floor(random() * 12), 11),
        entryRequirements: {
          entrySummaryEnglish: pick(20),
          entryYouNeedEnglish: sentences(3, 10),
          entryYouMayNeedEnglish: sentences(2, 10),
        },
        minorGroups: [minor, ...(related === minor ? [] : [related])].map((group, place) => ({
          minorGroupRelationType: place === 0 ? 'Primary' : 'Secondary',
          minorGroup: {
            code: `${100 + group}`,
            nameEnglish: `Minor group ${group}`,
            majorGroups: [
              {
                majorGroupRelationType: 'Primary',
                majorGroup: {
                  code: `${group % MAJOR_GROUPS}`,
                  nameEnglish: `Major group ${group % MAJOR_GROUPS}`,
                },
              },
            ],
          },
        })),
        renumeration: {
          payLowerBound: low,
          payMidLowerBound: low + 10_000,
          payMidUpperBound: low + 30_000,
          payUpperBound: low + 60_000,
        },
        lastUpdatedDate: new Date(FIRST_DATE + Math.floor(random() * (LAST_DATE - FIRST_DATE))).toISOString(),
      },
    }
  }
}

/** Findings of about 400 B. */
export async function* generateFindings(count: number): AsyncGenerator<SourceRecord> {
  const random = seeded(20260202)
  for (let index = 0; index < count; index++) {
    const student = String(9_900_000_000 + Math.floor(random() * 1e8))
    const course = `CRS${1000 + Math.floor(random() * 9000)}`
    yield {
      file: 'generated',
      line: index + 1,
      value: {
        localId: `ENR${String(index).padStart(8, '0')}`,
        errorCode: `ENR-${String(Math.floor(random() * 60)).padStart(3, '0')}`,
        errorDescription:
          'The enrolment ends after the course does; check both dates and send the record again.',
        errorType: random() < 0.3 ? 'Warning' : 'Error',
        fileType: FILE_TYPES[Math.floor(random() * FILE_TYPES.length)],
        courseCode: course,
        studentId: student,
        recordText: `ENR|${student}|${course}|Q1330|20250224|20250704||G1|685.00|FT|${index}`,
      },
    }
  }
}
