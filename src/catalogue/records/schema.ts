import { choice, int32Count, listOf, strings, time, upTo } from '../../api/contract/fields.ts'
import { SINGLE_LINE } from '../../foundation/schema/compile.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'

/** The longest occupation code, group code and cursor, in code points. */
export const MAX_CODE_LENGTH = 64

/** The most alternative titles of a record per language (interface, section 8). */
export const MAX_ALT_TITLES = 7

const text = (description: string) => Type.Optional(Type.String({ description, minLength: 1 }))
const list = (description: string, options: { maxItems?: number } = {}) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description, minItems: 1, ...options }))
const code = (description: string) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength: MAX_CODE_LENGTH, pattern: SINGLE_LINE }))
const pay = (description: string) => Type.Optional(Type.Number({ description, minimum: 0, format: 'double' }))
const relation = (description: string) =>
  Type.Optional({
    ...choice(['Primary', 'Secondary'], description),
    // Code generators derive the type name of both fields from it.
    title: 'GroupRelationType',
  })

/** Section 2.5 of the interface. */
export const MajorGroup = Type.Object(
  {
    code: code('Unique identifier of the major group.'),
    nameEnglish: text('Major group name, in New Zealand English.'),
    nameMaori: text('Major group name, in te reo Māori, where available for Kaupapa Māori occupations.'),
    descriptionEnglish: text('High-level description of the major group, in New Zealand English.'),
  },
  { title: 'MajorGroup', description: 'A major group.' },
)

/** Section 2.5 of the interface. */
const MajorGroupRelation = Type.Object(
  {
    majorGroupRelationType: relation('How the major group belongs to the minor group.'),
    majorGroup: Type.Optional(MajorGroup),
  },
  { title: 'MajorGroupRelation', description: 'A major group of a minor group, and how they are related.' },
)

/** Section 2.4 of the interface. */
export const MinorGroup = Type.Object(
  {
    code: code('Unique identifier of the minor group.'),
    nameEnglish: text('Minor group name, in New Zealand English.'),
    nameMaori: text('Minor group name, in te reo Māori, where available for Kaupapa Māori occupations.'),
    descriptionEnglish: text('High-level description of the minor group, in New Zealand English.'),
    tasks: list('High-level description of the tasks of the minor group, in New Zealand English.'),
    majorGroups: Type.Optional(
      Type.Array(MajorGroupRelation, {
        description: 'Major groups associated with the minor group. At most one is Primary.',
        minItems: 1,
      }),
    ),
  },
  { title: 'MinorGroup', description: 'A minor group.' },
)

/** Section 2.4 of the interface. */
const MinorGroupRelation = Type.Object(
  {
    minorGroupRelationType: relation('How the minor group belongs to the occupation.'),
    minorGroup: Type.Optional(MinorGroup),
  },
  { title: 'MinorGroupRelation', description: 'A minor group of an occupation, and how they are related.' },
)

/** Section 2.3 of the interface. */
const EntryRequirements = Type.Object(
  {
    entrySummaryEnglish: text('High-level description of the entry requirements, in New Zealand English.'),
    entrySummaryMaori: text('The same in te reo Māori, where available for Kaupapa Māori occupations.'),
    entryInSchoolEnglish: text(
      'What is needed to enter the occupation while in school, in New Zealand English.',
    ),
    entryInSchoolMaori: text('The same in te reo Māori, where available for Kaupapa Māori occupations.'),
    entryYouNeedEnglish: list('Mandatory requirements, in New Zealand English.'),
    entryYouNeedMaori: list('The same in te reo Māori, where available for Kaupapa Māori occupations.'),
    entryYouMayNeedEnglish: list('What one may need, in New Zealand English.'),
    entryYouMayNeedMaori: list('The same in te reo Māori, where available for Kaupapa Māori occupations.'),
  },
  { title: 'EntryRequirements', description: 'What is needed to enter the occupation.' },
)

/** Section 2.6 of the interface. The amounts are annual and increasing. */
const Renumeration = Type.Object(
  {
    payLowerBound: pay('Tenth percentile of annual pay.'),
    payMidLowerBound: pay('First quartile of annual pay.'),
    payMidUpperBound: pay('Third quartile of annual pay.'),
    payUpperBound: pay('Ninetieth percentile of annual pay.'),
  },
  {
    title: 'Renumeration',
    description: 'Annual pay figures, each at least as high as the one before. (The name is spelled so.)',
  },
)

/** Section 2.7 of the interface. */
const RegistrationAuthority = Type.Object(
  {
    nameEnglish: text('Authority name, in New Zealand English.'),
    nameMaori: text('Authority name, in te reo Māori; may not be commonly available.'),
    email: text('E-mail address of the authority.'),
    telephone: text('Phone number of the authority.'),
    websiteUrl: text('Website address of the authority.'),
  },
  {
    title: 'RegistrationAuthority',
    description: 'Who registers people in the occupation; present only where such an authority exists.',
  },
)

/** Section 2.2 of the interface. The order of the fields here is their order in every document. */
export const OccupationRecord = Type.Object(
  {
    occupationCode: code('Code that uniquely identifies the occupation.'),
    titleEnglish: text('Title in New Zealand English.'),
    titleMaori: text('Title in te reo Māori.'),
    titlePluralEnglish: text('Plural of the title, in New Zealand English.'),
    titlePluralMaori: text('Plural of the title, in te reo Māori.'),
    altJobTitlesEnglish: list(
      'Up to seven alternative titles or official-statistics synonyms, in New Zealand English.',
      { maxItems: MAX_ALT_TITLES },
    ),
    altJobTitlesMaori: list(
      'Up to seven alternative titles or synonyms, in te reo Māori, where available for Kaupapa Māori occupations.',
      { maxItems: MAX_ALT_TITLES },
    ),
    descriptionEnglish: text('Summary of the occupation, in New Zealand English.'),
    descriptionMaori: text(
      'Summary of the occupation, in te reo Māori, where available for Kaupapa Māori occupations.',
    ),
    kaupapaDescriptionEnglish: text(
      'The Kaupapa summary, in New Zealand English, where available for Kaupapa Māori occupations.',
    ),
    kaupapaDescriptionMaori: text(
      'The Kaupapa summary, in te reo Māori, where available for Kaupapa Māori occupations.',
    ),
    detailedWorkActivitiesEnglish: list('Tasks of the occupation, in New Zealand English.'),
    detailedWorkActivitiesMaori: list(
      'Tasks of the occupation, in te reo Māori, where available for Kaupapa Māori occupations.',
    ),
    trainingDuration: text('How long someone needs to train for the occupation.'),
    lifeOnTheJobEnglish: list(
      'Day-to-day life in the occupation (working hours, locations, travel, conditions, physical or emotional demands, personal attributes), in New Zealand English.',
    ),
    lifeOnTheJobMaori: list('The same in te reo Māori, where available for Kaupapa Māori occupations.'),
    entryRequirements: Type.Optional(EntryRequirements),
    minorGroups: Type.Optional(
      Type.Array(MinorGroupRelation, {
        description: 'Minor groups the occupation belongs to. At most one is Primary.',
        minItems: 1,
      }),
    ),
    renumeration: Type.Optional(Renumeration),
    registrationAuthority: Type.Optional(RegistrationAuthority),
    lastUpdatedDate: time('When the record was created or last updated: UTC, with milliseconds and Z.'),
  },
  { title: 'OccupationRecord', description: 'One occupation. A field without a value is absent.' },
)
export type OccupationRecord = Static<typeof OccupationRecord>

/** A code in `Filter.Codes` that the catalogue does not have. */
export const MissingOccupation = Type.Object(
  {
    // Whatever was sent, which may be no code that a record could have.
    occupationCode: Type.String({ description: 'The code, as it was sent.' }),
    removedDate: time('When it was removed; absent if the catalogue never had it.'),
    replacedBy: strings('Its successors.'),
  },
  { title: 'MissingOccupation', description: 'A code that the catalogue does not have, and its successors.' },
)

/** Section 2.1 of the interface. The last field comes with `Filter.Codes` only. */
export const OccupationPage = Type.Object(
  {
    nextCursor: code('The first occupation code of the next page; absent on the last page.'),
    currentCursor: code('The first occupation code of this page; absent on an empty page.'),
    totalCount: int32Count('Number of records that match the filters, whatever the cursor.'),
    data: listOf(OccupationRecord, 'The records of this page, by occupation code.'),
    resultsCount: int32Count('Number of records on this page.'),
    missingCodes: listOf(
      MissingOccupation,
      'The codes in `Filter.Codes` that the catalogue does not have; absent if it has all of them.',
    ),
  },
  { title: 'OccupationPage', description: 'A page of the occupation catalogue.' },
)

/** The most codes in `Filter.Codes`. */
const MAX_FILTER_CODES = 100

/** The names of a record's fields in order. */
export const RECORD_FIELDS = Object.keys(OccupationRecord.properties)

const commaSeparated = { style: 'form', explode: false }
const groupFilter = (description: string) =>
  Type.Optional(Type.String({ description, maxLength: MAX_CODE_LENGTH }))

/** Section 4.1 of the interface: the query parameters, with the limits of this installation. */
export function occupationQuery(limits: { default: number; max: number }) {
  return Type.Object({
    Limit: upTo(
      limits.max,
      limits.default,
      `Number of records per page, from 1 to ${limits.max}. A larger number is refused, never clamped.`,
    ),
    Cursor: Type.Optional(
      Type.String({
        description:
          'Where the page starts: the first occupation code at or after this one. Usually the `nextCursor` of the page before.',
        maxLength: MAX_CODE_LENGTH,
      }),
    ),
    'Filter.MajorGroupCode': groupFilter(
      'Only records of this major group: those with a minor group, Primary or Secondary, that belongs to it.',
    ),
    'Filter.MinorGroupCode': groupFilter('Only records of this minor group, Primary or Secondary.'),
    'Filter.GroupRelation': Type.Optional(
      Type.Unsafe<'Primary' | 'Any'>({
        type: 'string',
        enum: ['Primary', 'Any'],
        default: 'Any',
        description:
          'How the records belong to the groups of the group filters: `Any`, or only `Primary`: the Primary minor group, and its Primary major group.',
      }),
    ),
    'Filter.Codes': Type.Optional(
      Type.Array(Type.String({ maxLength: MAX_CODE_LENGTH }), {
        description: `Only the records with these codes: up to ${MAX_FILTER_CODES}, comma-separated. Without \`Limit\`, the page has all of them. \`missingCodes\` lists those that the catalogue does not have.`,
        maxItems: MAX_FILTER_CODES,
        ...commaSeparated,
      }),
    ),
    Fields: Type.Optional(
      Type.Array(Type.Unsafe<string>({ type: 'string', enum: RECORD_FIELDS }), {
        description: 'The fields that each record shows, comma-separated; all of them where it is absent.',
        ...commaSeparated,
      }),
    ),
    'Filter.LastUpdatedAfter': time(
      'Only records last updated after this time, exclusive. RFC 3339; UTC where no offset is given.',
    ),
    'Filter.LastUpdatedBefore': time(
      'Only records last updated before this time, exclusive. RFC 3339; UTC where no offset is given.',
    ),
  })
}
