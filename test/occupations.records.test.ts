import { expect, test } from 'vitest'
import type { OccupationRecord } from '../src/catalogue/records/schema.ts'
import { get, type OccupationPage } from './support/catalogue.ts'
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
    payMidLowerBound: 60000.5,
    payMidUpperBound: 70000.25,
    payUpperBound: 90000,
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

/** The text of the only record of a page, as it was sent. */
async function readRecord(service: Service, url = '/v1/occupations'): Promise<string> {
  const { body } = await get(service, url)
  expect(body).toContain('"totalCount":1')
  return body.slice(body.indexOf('"data":[') + 8, body.lastIndexOf(']'))
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

  expect(await readRecord(service)).toBe(JSON.stringify(FULL))
})

test('a record needs nothing but its code', async () => {
  const service = await Service.start()
  const { lastUpdatedDate } = await service.import([{ occupationCode: 'A' }])

  expect(await readRecord(service)).toBe(JSON.stringify({ occupationCode: 'A', lastUpdatedDate }))
})

test('a field without a value is absent, never null or empty', async () => {
  const service = await Service.start()
  await service.import(
    [
      {
        ...FULL,
        titleEnglish: null,
        titleMaori: '',
        titlePluralEnglish: ' \u00a0 ',
        altJobTitlesEnglish: [],
        altJobTitlesMaori: ['', null, 'Kaiako', '  '],
        descriptionMaori: '\n',
        detailedWorkActivitiesEnglish: [null, ''],
        entryRequirements: { entrySummaryEnglish: '', entryYouNeedEnglish: [], entryYouNeedMaori: null },
        minorGroups: [
          { minorGroupRelationType: null, minorGroup: { code: '11', tasks: [''], majorGroups: [] } },
          { minorGroupRelationType: 'Secondary', minorGroup: {} },
          {},
          null,
        ],
        renumeration: { payLowerBound: null, payMidLowerBound: 0 },
        registrationAuthority: { nameEnglish: null, email: '' },
      },
    ],
    { keepDates: true },
  )

  const { titleEnglish: _, titleMaori: _1, titlePluralEnglish: _2, altJobTitlesEnglish: _3, ...rest } = FULL
  const { descriptionMaori: _4, detailedWorkActivitiesEnglish: _5, entryRequirements: _6, ...others } = rest
  const { registrationAuthority: _7, ...kept } = others
  expect(JSON.parse(await readRecord(service))).toEqual({
    ...kept,
    altJobTitlesMaori: ['Kaiako'],
    minorGroups: [{ minorGroup: { code: '11' } }, { minorGroupRelationType: 'Secondary' }],
    renumeration: { payMidLowerBound: 0 },
  })
})

test('text comes out as Unicode NFC without spaces around it, and macrons are kept', async () => {
  const service = await Service.start()
  const summary = await service.import([
    {
      occupationCode: ' nga\u0304\u00a01 ',
      titleEnglish: '\u00a0Cafe\u0301\u202fmanager\u2007 ',
      titleMaori: 'A\u0304 e\u0304 i\u0304 o\u0304 u\u0304 Ā ē ī ō ū',
      descriptionEnglish: 'Line one\n\tLine two  with two spaces\u2003and an em space\n',
      altJobTitlesMaori: ['\ufeffKaiako'],
      minorGroups: [{ minorGroup: { code: '\u00a0ma\u0304\u00a0x' } }],
    },
  ])
  expect(summary.normalised).toBe(1)

  const record = JSON.parse(await readRecord(service))
  expect(record).toEqual({
    occupationCode: 'ngā 1',
    titleEnglish: 'Café manager',
    titleMaori: 'Ā ē ī ō ū Ā ē ī ō ū',
    altJobTitlesMaori: ['Kaiako'],
    descriptionEnglish: 'Line one\n\tLine two  with two spaces\u2003and an em space',
    minorGroups: [{ minorGroup: { code: 'mā x' } }],
    lastUpdatedDate: summary.lastUpdatedDate,
  })
  expect(await readRecord(service, '/v1/occupations?Filter.MinorGroupCode=m%C4%81+x')).toContain('ngā 1')
  expect(await readRecord(service, '/v1/occupations?Cursor=ng%C4%81+1')).toContain('ngā 1')
  expect(await service.import([record])).toMatchObject({ unchanged: 1, normalised: 0 })
})

test('renumeration is spelled so, and its figures are numbers with all their digits', async () => {
  const service = await Service.start()
  const figures = {
    payLowerBound: 0,
    payMidLowerBound: 48123.45678901234,
    payMidUpperBound: 1e21,
    payUpperBound: 1.7976931348623157e308,
  }
  await service.import([{ occupationCode: 'A', renumeration: figures }])

  const record: OccupationRecord = JSON.parse(await readRecord(service))
  expect(record.renumeration).toEqual(figures)
  expect(record).not.toHaveProperty('remuneration')
  await expect(service.import([{ occupationCode: 'B', remuneration: figures }])).rejects.toThrow(
    'has the unknown field "remuneration" (did you mean "renumeration"?)',
  )
})

test('the figures of renumeration rise, those that are given', async () => {
  const service = await Service.start()
  const pay = (...figures: readonly (number | null)[]) => {
    const [payLowerBound, payMidLowerBound, payMidUpperBound, payUpperBound] = figures
    return { payLowerBound, payMidLowerBound, payMidUpperBound, payUpperBound }
  }

  for (const fine of [pay(1, 1, 1, 1), pay(1, 2, 3, 4), pay(1, null, null, 1), pay(null, 3, null, null)]) {
    await service.import([{ occupationCode: 'A', renumeration: fine }])
  }
  for (const fault of [
    pay(2, 1, 3, 4),
    pay(1, 3, 2, 4),
    pay(1, 2, 4, 3),
    pay(2, null, null, 1),
    pay(-1, 2, 3, 4),
  ]) {
    await expect(service.import([{ occupationCode: 'A', renumeration: fault }])).rejects.toThrow(
      'renumeration.pay',
    )
  }
})

test('a record has at most seven alternative titles in each language', async () => {
  const service = await Service.start()
  const titles = Array.from({ length: 8 }, (_, index) => `Title ${index}`)

  await service.import([
    { occupationCode: 'A', altJobTitlesEnglish: titles.slice(1), altJobTitlesMaori: titles.slice(1) },
  ])
  const record: OccupationRecord = JSON.parse(await readRecord(service))
  expect(record.altJobTitlesEnglish).toEqual(titles.slice(1))
  for (const field of ['altJobTitlesEnglish', 'altJobTitlesMaori']) {
    await expect(service.import([{ occupationCode: 'A', [field]: titles }])).rejects.toThrow(
      `${field}: has 8 items`,
    )
  }
})

test('relation types are Primary or Secondary, with at most one Primary on each level', async () => {
  const service = await Service.start()
  const minor = (type: string, code: string, ...types: readonly string[]) => ({
    minorGroupRelationType: type,
    minorGroup: {
      code,
      majorGroups: types.map((each, index) => ({
        majorGroupRelationType: each,
        majorGroup: { code: `${code}${index}` },
      })),
    },
  })

  await service.import([
    {
      occupationCode: 'A',
      minorGroups: [
        minor('Primary', '1', 'Primary', 'Secondary'),
        minor('Secondary', '2', 'Primary', 'Secondary', 'Secondary'),
        minor('Secondary', '3', 'Secondary'),
      ],
    },
  ])
  for (const minorGroups of [
    [minor('Primary', '1'), minor('Primary', '2')],
    [minor('Secondary', '1', 'Primary', 'Primary')],
    [minor('primary', '1')],
    [minor('Tertiary', '1')],
    [minor('Primary', '1', 'None')],
  ]) {
    await expect(service.import([{ occupationCode: 'A', minorGroups }])).rejects.toThrow('minorGroups')
  }
  const page = (await get(service, '/v1/occupations')).json<OccupationPage>()
  expect(page.data[0]?.minorGroups).toHaveLength(3)
})

test('nothing of an import with a faulty record is stored', async () => {
  const service = await Service.start()
  await service.import([{ occupationCode: 'A', titleEnglish: 'before' }])

  const faulty = [
    { occupationCode: 'A', titleEnglish: 'after' },
    { occupationCode: 'B' },
    { titleEnglish: 'no code' },
  ]
  await expect(service.import(faulty)).rejects.toThrow('test.ndjson:3: occupationCode: is missing')
  await expect(service.import(faulty.slice(0, 2).concat(faulty.slice(0, 1)))).rejects.toThrow(
    'repeats "A" of',
  )
  const page = (await get(service, '/v1/occupations')).json<OccupationPage>()
  expect(page).toMatchObject({ totalCount: 1, data: [{ titleEnglish: 'before' }] })
})
