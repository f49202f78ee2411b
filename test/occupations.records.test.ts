import { expect, test } from 'vitest'
import { renderRecord } from '../src/catalogue/records/record.ts'
import { get } from './support/catalogue.ts'
import { Service } from './support/service.ts'

const LATE = '2024-05-01T09:30:00.120Z'

/** A record with every field of sections 2.2 to 2.7, in the order of the interface. */
const FULL = {
  occupationCode: 'A0101',
  titleEnglish: 'Teacher',
  titleMaori: 'Kaiako',
  titlePluralEnglish: 'Teachers',
  titlePluralMaori: 'Ngā kaiako',
  altJobTitlesEnglish: ['Tutor', 'Educator'],
  altJobTitlesMaori: ['Kaiako'],
  descriptionEnglish: 'Teachers teach.',
  descriptionMaori: 'Ngā kaiako',
  kaupapaDescriptionEnglish: 'Kaupapa in English.',
  kaupapaDescriptionMaori: 'Kaupapa',
  detailedWorkActivitiesEnglish: ['Plan lessons', 'Teach'],
  detailedWorkActivitiesMaori: ['Kaiako'],
  trainingDuration: '3 years',
  lifeOnTheJobEnglish: ['Regular hours', 'Some travel'],
  lifeOnTheJobMaori: ['Kaiako'],
  entryRequirements: {
    entrySummaryEnglish: 'A degree.',
    entrySummaryMaori: 'Kaiako',
    entryInSchoolEnglish: 'Study English.',
    entryInSchoolMaori: 'Kaiako',
    entryYouNeedEnglish: ['A degree', 'Registration'],
    entryYouNeedMaori: ['Kaiako'],
    entryYouMayNeedEnglish: ['A licence'],
    entryYouMayNeedMaori: ['Kaiako'],
  },
  minorGroups: [
    {
      minorGroupRelationType: 'Primary',
      minorGroup: {
        code: '11',
        nameEnglish: 'Teaching',
        nameMaori: 'Kaiako',
        descriptionEnglish: 'All of teaching.',
        tasks: ['Teach', 'Assess'],
        majorGroups: [
          {
            majorGroupRelationType: 'Primary',
            majorGroup: {
              code: '1',
              nameEnglish: 'Education',
              nameMaori: 'Kaiako',
              descriptionEnglish: 'All of education.',
            },
          },
          { majorGroupRelationType: 'Secondary', majorGroup: { code: '2' } },
        ],
      },
    },
    { minorGroupRelationType: 'Secondary', minorGroup: { code: '12' } },
  ],
  renumeration: {
    payLowerBound: 50000,
    payMidLowerBound: 60000.45678901234,
    payMidUpperBound: 1e21,
    payUpperBound: 1.7976931348623157e308,
  },
  registrationAuthority: {
    nameEnglish: 'The Council',
    nameMaori: 'Kaiako',
    email: 'office@council.example',
    telephone: '+64 4 555 0100',
    websiteUrl: 'https://council.example/',
  },
  lastUpdatedDate: LATE,
}

/** The same value with the fields of every object the other way round. */
function turnAround(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turnAround)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, field]) => [name, turnAround(field)]),
  )
}

test('every field of the interface comes out as it went in, in the order of the interface', async () => {
  const service = await Service.start()
  await service.import([turnAround(FULL)], { keepDates: true })

  expect((await get(service, '/v1/occupations')).body).toContain(`"data":[${JSON.stringify(FULL)}]`)
})

/** The fields of the faults of a record with this content. */
function complain(content: object): (string | undefined)[] {
  const rendered = renderRecord({ file: 'test.ndjson', line: 1, value: { occupationCode: 'A', ...content } })
  return 'faults' in rendered ? rendered.faults.map(({ field }) => field) : []
}

const pay = (...figures: readonly (number | null)[]) => {
  const [payLowerBound, payMidLowerBound, payMidUpperBound, payUpperBound] = figures
  return { renumeration: { payLowerBound, payMidLowerBound, payMidUpperBound, payUpperBound } }
}
/** Minor groups by their types, each with the types of its major groups. */
const related = (...minors: readonly (readonly [string, ...string[]])[]) => ({
  minorGroups: minors.map(([minorGroupRelationType, ...majors], at) => ({
    minorGroupRelationType,
    minorGroup: {
      code: `${at}`,
      majorGroups: majors.map((majorGroupRelationType, index) => ({
        majorGroupRelationType,
        majorGroup: { code: `${at}${index}` },
      })),
    },
  })),
})
const titles = (count: number) => Array.from({ length: count }, (_, index) => `Title ${index}`)

test('the figures of renumeration rise, titles are at most seven, and one group of a level is Primary', () => {
  for (const fine of [
    ...[pay(1, 1, 1, 1), pay(1, 2, 3, 4), pay(1, null, null, 1), pay(null, 3, null, null)],
    { altJobTitlesEnglish: titles(7), altJobTitlesMaori: titles(7) },
    related(['Primary', 'Primary', 'Secondary'], ['Secondary', 'Primary', 'Secondary'], ['Secondary']),
  ])
    expect([fine, complain(fine)]).toEqual([fine, []])
  for (const [wrong, field] of [
    [pay(2, 1, 3, 4), 'renumeration.payMidLowerBound'],
    [pay(1, 3, 2, 4), 'renumeration.payMidUpperBound'],
    [pay(1, 2, 4, 3), 'renumeration.payUpperBound'],
    [pay(2, null, null, 1), 'renumeration.payUpperBound'],
    [pay(-1, 2, 3, 4), 'renumeration.payLowerBound'],
    [{ altJobTitlesEnglish: titles(8) }, 'altJobTitlesEnglish'],
    [{ altJobTitlesMaori: titles(8) }, 'altJobTitlesMaori'],
    [related(['Primary'], ['Primary']), 'minorGroups'],
    [related(['Secondary', 'Primary', 'Primary']), 'minorGroups[0].minorGroup.majorGroups'],
    [related(['Primary', 'None']), 'minorGroups[0].minorGroup.majorGroups[0].majorGroupRelationType'],
  ] as const)
    expect([wrong, complain(wrong)]).toEqual([wrong, [field]])
})
