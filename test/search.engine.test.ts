import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OccupationRecord } from '../src/catalogue/records/schema.ts'
import { toSearchDocument } from '../src/catalogue/search/documents.ts'
import { codeTitle } from '../src/engines/finding/coding.ts'
import { fold } from '../src/engines/finding/fold.ts'
import { openIndex } from '../src/engines/finding/index-file.ts'
import { RANKED } from '../src/engines/finding/score.ts'
import { OccupationSearch } from '../src/engines/finding/search.ts'
import { singular, stem } from '../src/engines/finding/stem.ts'
import { Vocabulary } from '../src/engines/finding/vocabulary.ts'
import { parseLines } from './support/lines.ts'
import { cases } from './support/properties.ts'
import { buildIndex, packIndex } from './support/search-index.ts'

function searchIn(
  records: readonly OccupationRecord[],
  options: { searchOnly?: Record<string, string[]>; synonyms?: string[][] } = {},
): OccupationSearch {
  const documents = records.map((record) => {
    const texts = options.searchOnly?.[record.occupationCode ?? ''] ?? []
    return toSearchDocument(
      record,
      texts.map((text) => ({ text, language: 'en' })),
    )
  })
  return open(documents, options.synonyms)
}

function open(documents: ReturnType<typeof toSearchDocument>[], synonyms: string[][] = []): OccupationSearch {
  const index = openIndex(packIndex(buildIndex(documents, { revision: '1', synonyms })))
  if (index === undefined) throw new Error('the index cannot be opened')
  return new OccupationSearch(index)
}

const samples = parseLines<OccupationRecord>(
  readFileSync(new URL('../samples/occupations.ndjson', import.meta.url), 'utf8'),
)
const search = searchIn(samples)
const first = (query: string, engine = search) => engine.search({ query, limit: 1 }).results[0]

/** Titles that no other sample has, so that the first result can only be one record. */
const titles = samples.flatMap(({ occupationCode = '', titleEnglish, titleMaori }) =>
  [titleEnglish, titleMaori].flatMap((title) => (title === undefined ? [] : [{ occupationCode, title }])),
)

const without = (title: string) => title.normalize('NFD').replace(/\u0304/g, '')
const WAYS: [string, (title: string) => string][] = [
  ['as it is', (title) => title],
  ['without macrons', without],
  ['with unnormalised macrons', (title) => title.normalize('NFD')],
  [
    'with umlauts',
    (title) =>
      title
        .normalize('NFD')
        .replace(/\u0304/g, '\u0308')
        .normalize('NFC'),
  ],
  ['with doubled vowels', (title) => title.normalize('NFD').replace(/(.)\u0304/gu, '$1$1')],
  ['in capitals', (title) => title.toUpperCase()],
  ['as one word', (title) => title.replaceAll(' ', '')],
  ['with a word split', (title) => title.replace(/(\p{L}{3})(\p{L}{3})/u, '$1 $2')],
]

describe('the exact title comes first', () => {
  test.each(WAYS)('written %s, for every sample', (_, write) => {
    const wrong = titles.filter(({ title }) => {
      const same = titles.filter((other) => fold(other.title) === fold(title))
      const codes = same.map((other) => other.occupationCode)
      return !codes.includes(first(write(title))?.occupationCode ?? '')
    })
    expect(wrong).toEqual([])
  })

  test('for every record of any bilingual catalogue', () => {
    const word = fc.constantFrom(
      'nurse',
      'guide',
      'kaiako',
      'pūtaiao',
      'ngā',
      'of',
      'senior',
      'kaitiaki',
      'mīhini',
    )
    const title = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
    const record = fc.record(
      {
        titleEnglish: title,
        titleMaori: title,
        altJobTitlesEnglish: fc.array(title, { minLength: 1, maxLength: 3 }),
      },
      { requiredKeys: ['titleEnglish'] },
    )
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), (list) => {
        const records = list.map((each, at) => ({
          occupationCode: `X${String(at).padStart(2, '0')}`,
          ...each,
        }))
        const engine = searchIn(records)
        for (const { titleEnglish, titleMaori } of records) {
          for (const each of [titleEnglish, titleMaori]) {
            if (each === undefined) continue
            const found = first(each, engine)
            expect([found?.titleEnglish, found?.titleMaori]).toContain(each)
          }
        }
      }),
      cases(60),
    )
  })
})

test('the exact title comes first among more occupations than the embedding ranks', () => {
  const parts = (title: string | undefined) => title?.split(' ') ?? []
  const english = [...new Set(samples.flatMap(({ titleEnglish }) => parts(titleEnglish)))]
  const maori = [...new Set(samples.flatMap(({ titleMaori }) => parts(titleMaori)))]
  const pick = (list: readonly string[], number: number) => list[number % list.length] ?? ''
  const records = Array.from({ length: RANKED + 100 }, (_, at) => ({
    occupationCode: `X${String(at).padStart(5, '0')}`,
    titleEnglish: `${pick(english, at * 7)} ${pick(english, at * 13 + (at >> 6))} ${pick(english, at * 5)}`,
    titleMaori: `${pick(maori, at * 11)} ${pick(maori, at * 3 + (at >> 5))}`,
  }))
  const engine = searchIn(records)
  const tried = records.filter((_, at) => at % 50 === 0)
  for (const title of tried.flatMap(({ titleEnglish, titleMaori }) => [titleEnglish, titleMaori])) {
    const found = first(title, engine)
    expect([fold(found?.titleEnglish ?? ''), fold(found?.titleMaori ?? '')]).toContain(fold(title))
  }
})

describe('a search', () => {
  const records: OccupationRecord[] = [
    {
      occupationCode: 'B2',
      titleEnglish: 'Truck Driver',
      titleMaori: 'Kaitaraiwa taraka',
      altJobTitlesEnglish: ['Haulage Driver'],
      minorGroups: [
        {
          minorGroupRelationType: 'Primary',
          minorGroup: {
            code: '21',
            majorGroups: [
              { majorGroupRelationType: 'Primary', majorGroup: { code: '2', nameEnglish: 'Transport' } },
            ],
          },
        },
      ],
    },
    { occupationCode: 'A1', titleEnglish: 'Bus Driver', descriptionEnglish: 'Carries passengers.' },
    { occupationCode: 'C3', titleEnglish: 'Registered Nurse', titleMaori: 'Nēhi' },
    { occupationCode: 'D4', titleEnglish: 'Registered Nurse' },
  ]
  const engine = searchIn(records, {
    searchOnly: { B2: ['Logging Rig Hand'] },
    synonyms: [['lorry', 'truck']],
  })

  test('highlights the words of the query in the name as it is written', () => {
    expect(first('nehi', engine)).toMatchObject({
      occupationCode: 'C3',
      matchedName: 'Nēhi',
      matchedLanguage: 'mi',
      matchedField: 'title',
      highlights: [[0, 4]],
    })
    expect(first('truck dri', engine)).toMatchObject({
      matchedName: 'Truck Driver',
      highlights: [
        [0, 5],
        [6, 9],
      ],
    })
  })

  test('reads a doubled vowel as one with a macron, before it corrects anything', () => {
    const engine = searchIn([
      { occupationCode: 'A', titleEnglish: 'Guide', titleMaori: 'Maat' },
      { occupationCode: 'B', titleEnglish: 'Diver', titleMaori: 'Māta' },
    ])
    expect(first('maata', engine)?.occupationCode).toBe('B')
  })

  test('orders equals by code', () => {
    const codes = engine.search({ query: 'registered nurse', limit: 2 }).results
    expect(codes.map(({ occupationCode }) => occupationCode)).toEqual(['C3', 'D4'])
  })

  test('finds search-only names, synonyms and words of texts', () => {
    expect(first('logging rig hand', engine)).toMatchObject({
      occupationCode: 'B2',
      matchedField: 'searchOnly',
    })
    expect(first('lorry driver', engine)?.occupationCode).toBe('B2')
    expect(first('passengers', engine)?.occupationCode).toBe('A1')
  })

  test('keeps to a language and a group, and counts groups', () => {
    const maori = engine.search({ query: 'driver', language: 'mi', limit: 5 })
    expect(maori.results.map(({ occupationCode }) => occupationCode)).toEqual(['B2'])
    const grouped = engine.search({ query: 'driver', majorGroup: '2', limit: 5 })
    expect(grouped.totalCount).toBe(1)
    expect(grouped.groups).toEqual([{ code: '2', nameEnglish: 'Transport', count: 1 }])
    expect(grouped.results[0]?.group).toEqual({ code: '2', nameEnglish: 'Transport' })
  })

  test('suggests names, but none that is for searching only', () => {
    expect(engine.suggest({ query: 'haul', limit: 3 })[0]).toEqual({
      text: 'Haulage Driver',
      occupationCode: 'B2',
      titleEnglish: 'Truck Driver',
      language: 'en',
      highlights: [[0, 4]],
    })
    expect(engine.suggest({ query: 'logging rig', limit: 5 }).map(({ text }) => text)).not.toContain(
      'Logging Rig Hand',
    )
  })
})

describe('a coding', () => {
  test('is certain of a title, and falls back to a group', () => {
    const certain = codeTitle(search, { id: '7', title: samples[0]?.titleEnglish ?? '' })
    expect(certain).toMatchObject({ id: '7', code: samples[0]?.occupationCode })
    expect(certain.certainty).toBeGreaterThan(0.9)
    const unsure = codeTitle(search, { title: 'teacher' })
    expect(unsure).not.toHaveProperty('code')
    expect(unsure.group?.code).toBeTypeOf('string')
  })

  test('has the group of which it is certain: the major group of similar occupations of two minor groups', () => {
    const records = ['Early', 'Music', 'Dance', 'Adult', 'Chess', 'Art'].map(
      (titleEnglish, at): OccupationRecord => ({
        occupationCode: `T${at}`,
        titleEnglish: `${titleEnglish} Teacher`,
        minorGroups: [
          {
            minorGroupRelationType: 'Primary',
            minorGroup: {
              code: at < 3 ? '11' : '12',
              majorGroups: [{ majorGroupRelationType: 'Primary', majorGroup: { code: '1' } }],
            },
          },
        ],
      }),
    )
    expect(codeTitle(searchIn(records), { title: 'teacher' }).group?.code).toBe('1')
    expect(codeTitle(searchIn(records.slice(0, 3)), { title: 'teacher' }).group?.code).toBe('11')
  })

  test.each(['zzzzqq', 'Senior', '…'])(
    'has neither a code nor a group for %s, nor a search a result',
    (title) => {
      for (const count of [1, 2, 3, samples.length]) {
        const engine = searchIn(samples.slice(0, count))
        expect(codeTitle(engine, { id: '1', title })).toEqual({ id: '1', certainty: 0, candidates: [] })
        expect(engine.search({ query: 'zzzzqq', limit: 9 }).totalCount).toBe(0)
      }
    },
  )

  test.each(['Senior X', 'Lead X', 'X (Full Time)', 'X - Night Shift', 'X II'])(
    'of a title stays the same with what only qualifies it: %s',
    (pattern) => {
      const changed = titles.filter(({ title }) => {
        const plain = codeTitle(search, { title }).candidates[0]?.occupationCode
        const added = pattern.replace('X', title)
        return codeTitle(search, { title: added }).candidates[0]?.occupationCode !== plain
      })
      expect(changed).toEqual([])
    },
  )

  test('counts a name that only has a rank beside it as a name', () => {
    const engine = searchIn([
      { occupationCode: 'A', titleEnglish: 'Chaplain', altJobTitlesEnglish: ['Minister'] },
      { occupationCode: 'B', titleEnglish: 'Politician', altJobTitlesEnglish: ['Minister of State'] },
    ])
    const certaintyOf = (title: string) => codeTitle(engine, { title }).certainty
    expect(certaintyOf('Senior Minister')).toBeGreaterThan(certaintyOf('Minister') - 0.02)
  })

  test('is nearly certain of a name that a person has confirmed, against the other names', () => {
    const documents = samples.map((record) => {
      const { occupationCode = '' } = record
      const confirmed = {
        text: 'Kindy Teacher',
        language: 'en' as const,
        confirmed: occupationCode === 'B0102',
      }
      const named = ['A0101', 'A0102', 'B0102'].includes(occupationCode)
      return toSearchDocument(record, named ? [confirmed] : [])
    })
    const coding = codeTitle(open(documents), { title: 'kindy teacher' })
    expect(coding.code).toBe('B0102')
    expect(coding.certainty).toBeGreaterThan(0.95)
  })

  test('prefers the title to another name, in the singular and the plural', () => {
    const engine = searchIn([
      { occupationCode: 'A', titleEnglish: 'Paediatric Surgeon', altJobTitlesEnglish: ['Dermatologist'] },
      { occupationCode: 'B', titleEnglish: 'Dermatologists' },
    ])
    expect(codeTitle(engine, { title: 'Dermatologist' }).code).toBe('B')
    expect(first('dermatologist', engine)?.occupationCode).toBe('B')
  })

  test('is not certain of a title with a word that the catalogue does not have', () => {
    for (const title of ['Truck Driver', 'Crane Driver', 'Driver Trainer of Hovercraft']) {
      expect(codeTitle(search, { title }), title).not.toHaveProperty('code')
    }
    // Mistyped, it is the same word; a number is none.
    for (const title of ['Bus Drivr', 'Bus Driver 12'])
      expect(codeTitle(search, { title }).certainty, title).toBeGreaterThan(0.9)
  })
})

describe('whatever is typed', () => {
  const HOSTILE = [
    '',
    ' ',
    'of the',
    '!!! ??? ...',
    'مهندس برمجيات',
    '😀👩‍🏫',
    'a\u0000b',
    'ka\u0304 pai',
    '\ud800',
    'x'.repeat(10_000),
  ]

  test('the answer is the same each time, in order, within the text', () => {
    const query = fc.oneof(
      fc.constantFrom(...HOSTILE),
      fc.string({ unit: 'grapheme' }),
      fc
        .array(fc.constantFrom('kaiako', 'teacher', 'nurs', 'enginer', 'ā', '#'), { maxLength: 30 })
        .map((words) => words.join(' ')),
    )
    fc.assert(
      fc.property(query, (text) => {
        const answer = search.search({ query: text, limit: 20 })
        expect(search.search({ query: text, limit: 20 })).toEqual(answer)
        expect(answer.totalCount).toBeGreaterThanOrEqual(answer.results.length)
        search.suggest({ query: text, limit: 10 })
        codeTitle(search, { title: text, tasks: text })
        for (const { matchedName, highlights } of answer.results) {
          for (const [from, to] of highlights) {
            expect(from).toBeGreaterThanOrEqual(0)
            expect(to).toBeLessThanOrEqual(matchedName.length)
            expect(to).toBeGreaterThan(from)
          }
        }
      }),
      cases(100),
    )
  })
})

describe('a text of a form', () => {
  const engine = searchIn([
    { occupationCode: 'A', titleEnglish: 'Student Adviser', altJobTitlesEnglish: ['NA'] },
    { occupationCode: 'B', titleEnglish: 'Other Teacher', altJobTitlesEnglish: ['Homemaker'] },
    { occupationCode: 'C', titleEnglish: 'Employment Consultant for Retired People' },
  ])
  const noJob = { certainty: 0, candidates: [] }

  test('that names no job is not coded', () => {
    for (const title of [
      ...['unemployed', 'Student', 'retired', 'n/a', 'N/A', 'none', '-', 'Housewife', 'Law student', 'other'],
      ...['Not applicable', 'unknown', 'Self-employed', 'stay-at-home mum', 'Looking for work', 'Mum'],
    ])
      expect([title, codeTitle(engine, { title })]).toEqual([title, noJob])
  })

  test('that is the name of an occupation, or has more words, is coded', () => {
    expect(codeTitle(engine, { title: 'homemaker' }).code).toBe('B')
    expect(codeTitle(engine, { title: 'NA' }).code).toBe('A')
    expect(codeTitle(engine, { title: 'Student Adviser' }).code).toBe('A')
    expect(codeTitle(engine, { title: 'Retired people consultant' }).candidates[0]?.occupationCode).toBe('C')
  })
})

describe('letters in another form are read as what they look like:', () => {
  const engine = searchIn([
    {
      occupationCode: 'A',
      titleEnglish: 'Registered Nurse',
      altJobTitlesEnglish: ['RN', 'Nurse (RN)', 'Staff Nurse'],
    },
    { occupationCode: 'B', titleEnglish: 'Software Developer', altJobTitlesEnglish: ['R Programmer'] },
    { occupationCode: 'C', titleEnglish: 'Chief Executive', altJobTitlesEnglish: ['C.E.O.'] },
    { occupationCode: 'D', titleEnglish: 'Personal Assistant (P.A.)' },
    { occupationCode: 'E', titleEnglish: 'Office Manager' },
    { occupationCode: 'F', titleEnglish: 'Truck Driver' },
    { occupationCode: 'G', titleEnglish: 'Re\u00adcep\u00adtionist' },
  ])

  test.each([
    ['R.N.', 'A'],
    ['r.n', 'A'],
    ['Staff R.N.', 'A'],
    ['CEO', 'C'],
    ['C.E.O', 'C'],
    ['P.A.', 'D'],
    ['PA', 'D'],
    ['ｏｆｆｉｃｅ　ｍａｎａｇｅｒ', 'E'],
    ['o\ufb03ce manager', 'E'],
    ['Tr\u00aduck Dri\u200bver', 'F'],
    ['receptionist', 'G'],
  ])('%s', (query, code) => {
    expect(first(query, engine)?.occupationCode).toBe(code)
    expect(codeTitle(engine, { title: query }).candidates[0]?.occupationCode).toBe(code)
  })

  test('points are not part of longer words, and are not highlighted', () => {
    expect(first('pa', engine)?.highlights).toEqual([[20, 23]])
    expect(fold('R.N. C.E.O. Ā.B.')).toBe('rn ceo ab')
    expect(fold('J.Smith, node.js, e.g. this. A. B.')).toBe('j smith node js eg this a b')
  })
})

test('candidates of a coding, and results of a search, are in the order of their certainty', () => {
  const engine = searchIn([
    {
      occupationCode: 'A',
      titleEnglish: 'Software Developer',
      altJobTitlesEnglish: ['R Programmer', 'Java Developer'],
    },
    { occupationCode: 'B', titleEnglish: 'Registered Nurse', altJobTitlesEnglish: ['R N'] },
    { occupationCode: 'C', titleEnglish: 'Lamplighter' },
    { occupationCode: 'D', titleEnglish: 'Telex Operator' },
    { occupationCode: 'E', titleEnglish: 'Slash Occupation' },
  ])
  const word = fc.constantFrom(
    ...'developer nurse registered r n telex lamplighter operator zeppelin blimp slash programer lamp'.split(
      ' ',
    ),
  )
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      const title = words.join(' ')
      const certainties = codeTitle(engine, { title }).candidates.map(({ certainty }) => certainty)
      expect(certainties).toEqual(certainties.toSorted((a, b) => b - a))
      const { results } = engine.search({ query: title, limit: 9 })
      const exact = results.filter(
        ({ matchedName }) => fold(matchedName).replaceAll(' ', '') === fold(title).replaceAll(' ', ''),
      )
      const scores = results.slice(exact.length).map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    }),
    cases(200),
  )
})

describe('what people do', () => {
  const engine = searchIn([
    {
      occupationCode: 'P',
      titleEnglish: 'Pile Driver Operator',
      altJobTitlesEnglish: ['Driving Operator', 'Pile Driving Foreman'],
      detailedWorkActivitiesEnglish: ['Drive piles into the ground.'],
    },
    {
      occupationCode: 'B',
      titleEnglish: 'Bus Operator',
      altJobTitlesEnglish: ['Bus Driver'],
      detailedWorkActivitiesEnglish: ['Drive buses along routes.'],
    },
    {
      occupationCode: 'C',
      titleEnglish: 'Motor Mechanic',
      detailedWorkActivitiesEnglish: ['Repair automobiles.', 'Replace engines of automobiles.'],
    },
    {
      occupationCode: 'F',
      titleEnglish: 'Textile Fixer',
      detailedWorkActivitiesEnglish: ['Set up looms.'],
    },
    {
      occupationCode: 'E',
      titleEnglish: 'Home Aide',
      detailedWorkActivitiesEnglish: ['Care for elderly clients.', 'Cook meals.'],
    },
    { occupationCode: 'M', titleEnglish: 'Marketing Manager', altJobTitlesEnglish: ['Advertising Manager'] },
    { occupationCode: 'N', titleEnglish: 'Marketer', altJobTitlesEnglish: ['Manager of Promotion'] },
  ])

  test('is found by who does it, by tasks in other forms, and in everyday words', () => {
    for (const [query, code] of [
      ['driving buses', 'B'],
      ['driving a bus', 'B'],
      ['repairing automobiles', 'C'],
      ['fixing cars', 'C'],
      ['looking after old people', 'E'],
      ['caring for the elderly', 'E'],
      ['driving piles', 'P'],
    ] as const)
      expect([query, first(query, engine)?.occupationCode]).toEqual([query, code])
  })

  test('is not read into a title that begins with a word of the same form', () => {
    expect(first('marketing manager', engine)?.occupationCode).toBe('M')
    expect(first('advertising manager', engine)?.occupationCode).toBe('M')
  })

  test('decides between occupations only where the query says it', () => {
    const occupations = ['Painter', 'Wall Plasterer', 'Trainer', 'Dog Trainer', 'Consultant'].map(
      (titleEnglish) => ({ occupationCode: titleEnglish, titleEnglish }),
    )
    const cook = {
      occupationCode: 'Cook',
      titleEnglish: 'Cook',
      detailedWorkActivitiesEnglish: ['Prepare meals.'],
    }
    const small = searchIn([...occupations, cook])
    const find = (query: string) =>
      small.search({ query, limit: 9 }).results.map(({ occupationCode }) => occupationCode)
    // Who paints, before what walls are also a part of.
    expect(find('painting walls')[0]).toBe('Painter')
    expect(find('training consultant')).toEqual(['Consultant'])
    expect(find('preparing')).toEqual(['Cook'])
  })

  test('in everyday words is no mistake, and means what the catalogue says', () => {
    const { results, ...answer } = searchIn([
      { occupationCode: 'A', titleEnglish: 'Spark Plug Assembler' },
      { occupationCode: 'B', titleEnglish: 'Electrician' },
      { occupationCode: 'C', titleEnglish: 'Truck Driver' },
    ]).search({ query: 'sparky', limit: 1 })
    expect(results[0]?.occupationCode).toBe('B')
    expect(answer).not.toHaveProperty('didYouMean')
  })
})

test('a word and its derivations have one stem, and others have not', () => {
  for (const words of [
    'bake baker baking',
    'care carer caring',
    'drive driver driving',
    'sell seller selling',
  ])
    expect(new Set(words.split(' ').map(stem)).size, words).toBe(1)
  expect(stem('carer')).not.toBe(stem('car'))
  expect(
    ['buses', 'boxes', 'coaches', 'dishes', 'glasses', 'children', 'nurses', 'parties', 'houses'].map(
      singular,
    ),
  ).toEqual(['bus', 'box', 'coach', 'dish', 'glass', 'child', 'nurse', 'party', 'house'])
})

test('an empty catalogue has an index, and finds nothing', () => {
  expect(searchIn([]).search({ query: 'nurse', limit: 3 })).toEqual({
    query: 'nurse',
    totalCount: 0,
    results: [],
    groups: [],
  })
})

test('an index of another format is not opened', () => {
  expect(openIndex(new ArrayBuffer(0))).toBeUndefined()
  expect(openIndex(new ArrayBuffer(64))).toBeUndefined()
})

test('a typed macron ranks names with it first, and no macron ranks them as before', () => {
  const engine = searchIn([
    ...Array.from({ length: 30 }, (_, index) => ({
      occupationCode: `E${index}`,
      titleEnglish: `Network Engineer ${String.fromCharCode(65 + index)}`,
    })),
    { occupationCode: 'N', titleEnglish: 'Nurse', titleMaori: 'Nēhi' },
  ])
  expect(engine.suggest({ query: 'nē', limit: 3 })[0]).toMatchObject({ text: 'Nēhi', titleEnglish: 'Nurse' })
  expect(engine.suggest({ query: 'NĒ', limit: 3 })[0]).toMatchObject({ text: 'Nēhi' })
  expect(engine.suggest({ query: 'ne\u0304', limit: 3 })[0]).toMatchObject({ text: 'Nēhi' })
  expect(engine.suggest({ query: 'net', limit: 3 })[0]?.text).toContain('Network')
  expect(first('nēhi', engine)?.occupationCode).toBe('N')
})

test('what shares a word with the query but is unlikely is no result', () => {
  const found = search.search({ query: 'early childhood', limit: 20 })
  expect(found.results.map(({ occupationCode }) => occupationCode)).toEqual(['A0101'])
  expect(found.totalCount).toBe(1)
  expect(found.groups.map(({ code, count }) => [code, count])).toEqual([['1', 1]])
  expect(search.search({ query: 'teacher', limit: 20 }).totalCount).toBeGreaterThan(3)
})

test('a search is as certain of its results as a coding of the same title', () => {
  for (const query of ['Truck Driver', 'Early Childhood Teacher', 'Head Chef', 'Bus Drivr']) {
    const [result] = search.search({ query, limit: 1 }).results
    expect(result?.score, query).toBeCloseTo(codeTitle(search, { title: query }).certainty, 2)
  }
  expect(first('Truck Driver')?.score).toBeLessThan(0.5)
})

test.each([
  ['Truk driver', 'truck driver', 'Truck Driver', 'Bus Driver'],
  ['dairy farmor', expect.stringMatching(/^dairy farmer/)],
  ['loger', 'logger', 'Logger'],
  ['acountent', 'accountant', 'Accountant'],
  // The tracks of the sample catalogue belong to rangers.
  ['truck driver', undefined],
  ['Truck Driver ', undefined],
])('the query %s may mean %s', (query, meant, ...titleEnglish) => {
  const own = titleEnglish.map((title, at) => ({ occupationCode: `A${at}`, titleEnglish: title }))
  expect((own.length > 0 ? searchIn(own) : search).search({ query, limit: 1 }).didYouMean).toEqual(meant)
})

test('a short word is corrected to one that goes with the other words', () => {
  expect(first('bas driver')?.occupationCode).toBe('H0202')
})

test('a confirmed name raises its occupation for similar titles, in any order and spelling', () => {
  const records = [
    { occupationCode: 'A', titleEnglish: 'Records Clerk', altJobTitlesEnglish: ['Archive Assistant'] },
    { occupationCode: 'B', titleEnglish: 'Laboratory Technician', altJobTitlesEnglish: ['Bench Assistant'] },
  ]
  const confirm = (confirmed: boolean) => {
    const name = { text: 'Specimen Archive Assistant', language: 'en' as const, confirmed }
    const documents = records.map((record) =>
      toSearchDocument(record, record.occupationCode === 'B' ? [name] : []),
    )
    return open(documents)
  }
  const likelihood = (confirmed: boolean) =>
    confirm(confirmed)
      .search({ query: 'Specimens Archiving Assistent', limit: 2 })
      .results.find(({ occupationCode }) => occupationCode === 'B')?.score ?? 0
  expect(likelihood(true)).toBeGreaterThan(likelihood(false))
})

test('the example in docs/search.md is what the sample catalogue gives', () => {
  const document = readFileSync(new URL('../docs/search.md', import.meta.url), 'utf8')
  const example = /```json\n(.*?)```/s.exec(document)?.[1] ?? ''
  expect(JSON.parse(example)).toEqual(search.search({ query: 'kohungahunga', limit: 1 }))
})

test('words that look right are not corrected', () => {
  const engine = searchIn([
    { occupationCode: 'A', titleEnglish: 'Logger' },
    { occupationCode: 'B', titleEnglish: 'Community Act Manager' },
    { occupationCode: 'C', titleEnglish: 'Accountant', titleMaori: 'Kaikaute' },
  ])
  for (const query of ['vlogger', 'acct mgr', 'kaihautū']) {
    const { results, ...answer } = engine.search({ query, limit: 1 })
    expect(answer, query).not.toHaveProperty('didYouMean')
    // What is only similar is a result, but nothing of it is highlighted as if it were the word.
    expect(
      results.flatMap(({ highlights }) => highlights),
      query,
    ).toEqual([])
    expect(codeTitle(engine, { title: query }), query).toEqual({ certainty: 0, candidates: [] })
  }
})

test('one letter is completed, and one word finds what has it', () => {
  expect(search.suggest({ query: 'k', limit: 3 }).map(({ text }) => text[0])).toEqual(['K', 'K', 'K'])
  expect(search.search({ query: 'kohungahunga', limit: 5 }).totalCount).toBe(1)
})

/** Optimal string alignment by its definition, over the whole table. */
function countSlips(one: string, other: string): number {
  const table = Array.from({ length: one.length + 1 }, (_, i) =>
    Array.from({ length: other.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const at = (i: number, j: number) => table[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const row = table[i] ?? []
      row[j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1),
        swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(one.length, other.length)
}

test('words within some slips are found, with their number, and no others', () => {
  const word = fc.string({ unit: fc.constantFrom(...'abc'), minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 40 }), word, (words, typed) => {
      const vocabulary = new Vocabulary(
        words.toSorted(),
        Uint32Array.from(words, () => 1),
      )
      for (const limit of [1, 2]) {
        const found = vocabulary
          .findSimilar(typed, limit)
          .map(({ id, slips }) => [vocabulary.word(id), slips] as const)
        const wanted = words
          .filter((other) => other[0] === typed[0] || other[0] === typed[1])
          .map((other) => [other, countSlips(typed, other)] as const)
          .filter(([, slips]) => slips > 0 && slips <= limit)
        expect(new Map(found)).toEqual(new Map(wanted))
      }
    }),
    cases(300),
  )
})
