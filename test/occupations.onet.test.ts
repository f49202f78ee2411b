import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { describeSource, type OnetOptions, readOnet } from '../src/catalogue/onet/import.ts'
import { readReleaseNumber } from '../src/catalogue/onet/release.ts'
import { findSingular, isPlural } from '../src/catalogue/onet/titles.ts'
import type { OccupationRecord } from '../src/catalogue/records/schema.ts'
import { InputRefused } from '../src/foundation/faults/faults.ts'
import type { Fault } from '../src/foundation/faults/user-error.ts'
import { Installation } from './support/command.ts'
import { temporaryFolder } from './support/temporary.ts'

/**
 * A small release in O*NET's form. Its occupations are made up, and so are their codes within real groups.
 */
const RELEASE = {
  'Occupation Data.txt': [
    'O*NET-SOC Code\tTitle\tDescription',
    '91-1011.00\tKite Pilots\tFly kites for a living.',
    '15-1298.00\tRiddle Programmers\tProgram riddles.',
    '31-1198.00\tPillow Aides\tShake pillows.',
    '51-5198.00\tStamp Printers\tPrint stamps.',
    '92-3011.00\tCloud Choir\tSing at clouds.',
  ],
  'Alternate Titles.txt': [
    'O*NET-SOC Code\tAlternate Title\tShort Title\tSource(s)',
    '91-1011.00\tkite pilots\tn/a\t01,02,04,08',
    '91-1011.00\tWind Rider\tn/a\t08',
    '91-1011.00\tString Captain\tn/a\t02,04',
    '91-1011.00\tSTRING CAPTAIN\tn/a\t08',
    '91-1011.00\tKP (Kite Pilot)\tKP\t02,08',
    '91-1011.00\tKite Pilot\tn/a\t02,04,08',
    '91-1011.00\tAir Artist\tn/a\t08',
    '91-1011.00\tGale Guide\tn/a\t08',
    '91-1011.00\tKite Person\tn/a\t08',
    '91-1011.00\tLine Handler\tn/a\t08',
    '91-1011.00\tHigh-Altitude Kite Steering Officer\tn/a\t08',
  ],
  'Task Statements.txt': [
    'O*NET-SOC Code\tTask ID\tTask\tTask Type\tIncumbents Responding\tDate\tDomain Source',
    '91-1011.00\t1\tUntangle strings.\tSupplemental\t90\t07/2014\tIncumbent',
    '91-1011.00\t2\tShout "Up!" at the kite.\tCore\t20\t08/2021\tIncumbent',
    '91-1011.00\t3\tInvent new kites.\tn/a\tn/a\t12/2020\tAnalyst',
    '91-1011.00\t4\t"Read the wind.\tCore\t85\t07/2014\tIncumbent',
    '15-1298.00\t5\tWrite riddles.\tCore\tn/a\t03/2019\tOccupational Expert',
  ],
  'Tasks to DWAs.txt': [
    'O*NET-SOC Code\tTask ID\tDWA ID\tDate\tDomain Source',
    '91-1011.00\t1\t4.A.D03\t03/2014\tAnalyst',
    '91-1011.00\t2\t4.A.D02\t03/2014\tAnalyst',
    '91-1011.00\t4\t4.A.D02\t03/2014\tAnalyst',
    '91-1011.00\t4\t4.A.D01\t03/2014\tAnalyst',
  ],
  'DWA Reference.txt': [
    'Element ID\tIWA ID\tDWA ID\tDWA Title',
    '4.A\t4.A.I01\t4.A.D01\tObserve weather.',
    '4.A\t4.A.I01\t4.A.D02\tOperate flying equipment.',
    '4.A\t4.A.I01\t4.A.D03\tRepair flying equipment.',
  ],
  'Job Zones.txt': ['O*NET-SOC Code\tJob Zone\tDate\tDomain Source', '91-1011.00\t2\t07/2014\tAnalyst'],
  'Job Zone Reference.txt': [
    'Job Zone\tName\tExperience\tEducation\tJob Training\tExamples\tSVP Range',
    '1\tZone One: None\tNo experience.\tNo education.\tA day.\tNappers.\t(Below 1.0)',
    '2\tZone Two: Some\tSome wind is needed.\tMost finished school.\tA summer.\tSailors.\t(1.0 to < 2.0)',
  ],
  'Related Occupations.txt': [
    'O*NET-SOC Code\tRelated O*NET-SOC Code\tRelatedness Tier\tIndex',
    '91-1011.00\t92-3011.00\tPrimary-Long\t6',
    '91-1011.00\t51-5198.00\tPrimary-Short\t10',
    '91-1011.00\t15-1298.00\tPrimary-Short\t2',
    '91-1011.00\t91-1011.00\tPrimary-Short\t3',
    '15-1298.00\t92-3011.00\tSupplemental\t11',
  ],
}
type FileName = keyof typeof RELEASE

const WAGE_HEADER = 'AREA,OCC_CODE,OCC_TITLE,O_GROUP,A_PCT10,A_PCT25,A_MEDIAN,A_PCT75,A_PCT90'
const WAGES = [
  WAGE_HEADER,
  '99,00-0000,All Occupations,total,1,2,3,4,5',
  '99,91-0000,"Wind, Water, and Air Occupations",major,1,2,3,4,5',
  '99,91-1000,"Pilots, ""Free"" and Tied",minor,1,2,3,4,5',
  '99,91-1010,Kite Pilots,broad,1,2,3,4,5',
  '99,91-1011,Kite Pilots,detailed,30000,41000.5,50000,"70,000",90000',
  '99,15-1200,Computer Occupations,minor,1,2,3,4,5',
  '99,15-1298,Riddle Programmers,detailed,40000,*,60000,80000,#',
  '99,31-1198,Pillow Aides,detailed,*,*,*,*,*',
]

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

async function writeRelease(changes: Partial<Record<FileName, string[] | undefined>> = {}): Promise<void> {
  for (const [name, lines] of Object.entries({ ...RELEASE, ...changes })) {
    if (lines !== undefined) await writeFile(join(folder, name), `${lines.join('\n')}\n`)
  }
}

async function writeWages(lines: string[] = WAGES): Promise<string> {
  const file = join(folder, 'wages.csv')
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

/** The records by code. A record is an OccupationRecord already; the importer checks it again. */
async function readRecords(
  from: string,
  wages?: string,
  options: OnetOptions = {},
): Promise<Map<string, OccupationRecord>> {
  const records = new Map<string, OccupationRecord>()
  for await (const { value } of readOnet(from, { ...options, ...(wages !== undefined && { wages }) })) {
    const record = value as OccupationRecord
    records.set(record.occupationCode ?? '', record)
  }
  return records
}

async function findFaults(wages?: string): Promise<readonly Fault[]> {
  try {
    await readRecords(folder, wages)
  } catch (error) {
    if (error instanceof InputRefused) return error.faults
    throw error
  }
  return []
}

describe('an O*NET release becomes records', () => {
  test('with every field that the source holds, in the order of the schema', async () => {
    await writeRelease()
    const record = (await readRecords(folder, await writeWages())).get('91-1011.00')
    expect(JSON.stringify(record, undefined, 2)).toBe(
      JSON.stringify(
        {
          occupationCode: '91-1011.00',
          titleEnglish: 'Kite Pilot',
          titlePluralEnglish: 'Kite Pilots',
          altJobTitlesEnglish: [
            'KP (Kite Pilot)',
            'Kite Person',
            'High-Altitude Kite Steering Officer',
            'String Captain',
            'Air Artist',
            'Gale Guide',
            'Wind Rider',
          ],
          descriptionEnglish: 'Fly kites for a living.',
          detailedWorkActivitiesEnglish: [
            'Operate flying equipment.',
            'Observe weather.',
            'Repair flying equipment.',
          ],
          trainingDuration: 'A summer.',
          lifeOnTheJobEnglish: [
            '"Read the wind.',
            'Shout "Up!" at the kite.',
            'Untangle strings.',
            'Invent new kites.',
          ],
          entryRequirements: {
            entrySummaryEnglish: 'Zone Two: Some',
            entryYouNeedEnglish: ['Some wind is needed.'],
            entryYouMayNeedEnglish: ['Most finished school.'],
          },
          minorGroups: [
            {
              minorGroupRelationType: 'Primary',
              minorGroup: {
                code: '91-1000',
                nameEnglish: 'Pilots, "Free" and Tied',
                majorGroups: [
                  {
                    majorGroupRelationType: 'Primary',
                    majorGroup: { code: '91-0000', nameEnglish: 'Wind, Water, and Air Occupations' },
                  },
                ],
              },
            },
          ],
          renumeration: {
            payLowerBound: 30000,
            payMidLowerBound: 41000.5,
            payMidUpperBound: 70000,
            payUpperBound: 90000,
          },
          lastUpdatedDate: '2021-08-01T00:00:00.000Z',
        },
        undefined,
        2,
      ),
    )
  })

  test('and the attribution names the release, its source and its licence in one sentence', async () => {
    await writeRelease()
    expect(describeSource(await readReleaseNumber(folder))).toContain('from the O*NET Database by')
    await writeFile(join(folder, 'Read Me.txt'), 'O*NET 31.2 Database\nMay 2031 Release\n')
    expect(describeSource(await readReleaseNumber(folder))).toBe(
      'These records include information from the O*NET 31.2 Database by the U.S. Department of Labor, Employment ' +
        'and Training Administration (USDOL/ETA), used under the CC BY 4.0 license and modified.',
    )
  })

  test('whose related occupations are groups only on request', async () => {
    await writeRelease()
    const related = await readRecords(folder, await writeWages(), { relatedGroups: true })
    const groups = related.get('91-1011.00')?.minorGroups ?? []
    expect(groups.map((each) => [each.minorGroupRelationType, each.minorGroup?.code])).toEqual([
      ['Primary', '91-1000'],
      ['Secondary', '15-1200'],
      ['Secondary', '51-5100'],
    ])
  })

  test('with the pay of the combined code if its own code has no row', async () => {
    await writeRelease()
    const combined: string[] = []
    const options: OnetOptions = { onCombinedPay: (code, wages) => combined.push(`${code} ${wages}`) }
    const rows = [
      ...WAGES,
      '99,51-5190,Stampers,broad,1,2,3,4,5',
      '99,51-5190,Stampers,detailed,9,10,11,12,13',
    ]
    const records = await readRecords(folder, await writeWages(rows), options)
    expect(records.get('51-5198.00')?.renumeration?.payLowerBound).toBe(9)
    // Its own row has no figure: the combined one would be another occupation's.
    expect(records.get('31-1198.00')).not.toHaveProperty('renumeration')
    expect(combined).toEqual(['51-5198.00 51-5190'])
  })
})

describe('import-onet', () => {
  const command = ['occupations', 'import-onet']

  test('refuses to import without wages unless requested', async () => {
    await writeRelease()
    const mahi = new Installation()
    const { code, stderr } = await mahi.run([...command, folder])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^--wages: is required. .*--without-wages/)
    expect(await mahi.runJson([...command, folder, '--without-wages'])).toMatchObject({ created: 5 })
    const both = await mahi.run([...command, folder, '--without-wages', '--wages', await writeWages()])
    expect(both.code).toBe(1)
  })
})
test.each([
  ['Managers, All Other', true],
  ['Judges, Magistrate Judges, and Magistrates', true],
  ['Computer Systems Engineers/Architects', true],
  ['Clergy', false],
  ['Captain of Horses', false],
  ['Boss, Except Managers and Directors', false],
])('a title is a plural by its head noun: %s (%s)', (title, expected) => {
  expect(isPlural(title)).toBe(expected)
})

test.each([
  ['Civil Engineers', 'Civil Engineer', true],
  ['Policemen', 'policeman', true],
  ['Stage Coaches', 'Stage Coach', true],
  ['Robotics Technicians', 'Robotic Technician', false],
  ['Floor Sanders and Finishers', 'Floor Sander', false],
])('the singular of a title is O*NET’s own: of %s, %s (%s)', (title, alternate, expected) => {
  const alternates = ['Engineer', alternate].map((each) => ({ title: each, sources: 1 }))
  expect(findSingular({ title, description: '', alternates })).toBe(expected ? alternate : undefined)
})

test('a release or a wages file that cannot be read is refused, with the file and the line of each fault', async () => {
  await writeRelease({ 'Job Zones.txt': undefined, 'DWA Reference.txt': undefined })
  const missing = 'is missing from the O*NET text release'
  expect(await findFaults()).toEqual([
    { file: join(folder, 'DWA Reference.txt'), message: missing },
    { file: join(folder, 'Job Zones.txt'), message: missing },
  ])
  const stray =
    'refers to activity "4.A.D99", which is not in \'DWA Reference.txt\'; use files of one release'
  for (const [name, from, to, line, message] of [
    ['Job Zones.txt', 'Job Zone', 'Zone', 1, expect.stringContaining('has no column "Job Zone"')],
    ['Job Zones.txt', '\tAnalyst', '', 2, 'has 3 cells, but the header row has 4'],
    [
      'Occupation Data.txt',
      '15-1298.00',
      '91-1011.00',
      3,
      expect.stringContaining('repeats the code 91-1011.00'),
    ],
    ['Tasks to DWAs.txt', '4.A.D03', '4.A.D99', 2, stray],
  ] as const) {
    await writeRelease({ [name]: RELEASE[name].map((text) => text.replace(from, to)) })
    expect(await findFaults()).toEqual([{ file: join(folder, name), line, message }])
  }
  await writeRelease()
  const file = await writeWages([...WAGES, '99,91-1012,Balloonists,detailed,30000,#,50000,29999,70000'])
  const message = 'is 29999, less than the 30000 before it'
  expect(await findFaults(file)).toEqual([{ file, line: 10, field: 'A_PCT75', message }])
})
