import type {
  Language,
  NameField,
  SearchDocument,
  SearchGroup,
  SearchName,
} from '../../engines/finding/index.ts'
import type { SearchOnlyName } from '../names/names.ts'
import type { OccupationRecord } from '../records/schema.ts'

/** The weight of a word in a description, relative to one in a task. */
const DESCRIPTION = 2
const TASK = 1

/** Converts a record and its search-only names to an indexed document. */
export function toSearchDocument(
  record: OccupationRecord,
  searchOnly: readonly SearchOnlyName[] = [],
): SearchDocument {
  const { minorGroups = [] } = record
  return {
    code: record.occupationCode ?? '',
    names: [
      ...listNames('en', 'title', [record.titleEnglish]),
      ...listNames('mi', 'title', [record.titleMaori]),
      ...listNames('en', 'pluralTitle', [record.titlePluralEnglish]),
      ...listNames('mi', 'pluralTitle', [record.titlePluralMaori]),
      ...listNames('en', 'alternativeTitle', record.altJobTitlesEnglish),
      ...listNames('mi', 'alternativeTitle', record.altJobTitlesMaori),
      ...searchOnly.map((name): SearchName => ({ ...name, field: 'searchOnly' })),
    ],
    texts: [
      ...listTexts(DESCRIPTION, [
        record.descriptionEnglish,
        record.descriptionMaori,
        record.kaupapaDescriptionEnglish,
        record.kaupapaDescriptionMaori,
      ]),
      ...listTexts(TASK, record.detailedWorkActivitiesEnglish),
      ...listTexts(TASK, record.detailedWorkActivitiesMaori),
      ...listTexts(TASK, record.lifeOnTheJobEnglish),
      ...listTexts(TASK, record.lifeOnTheJobMaori),
    ],
    minorGroups: primaryFirst(
      minorGroups.flatMap(({ minorGroup, minorGroupRelationType }) =>
        toGroup(minorGroup, minorGroupRelationType === 'Primary'),
      ),
    ),
    majorGroups: primaryFirst(
      minorGroups.flatMap(({ minorGroup, minorGroupRelationType }) =>
        (minorGroup?.majorGroups ?? []).flatMap(({ majorGroup, majorGroupRelationType }) =>
          toGroup(majorGroup, minorGroupRelationType === 'Primary' && majorGroupRelationType === 'Primary'),
        ),
      ),
    ),
  }
}

function listNames(
  language: Language,
  field: NameField,
  texts: readonly (string | undefined)[] = [],
): SearchName[] {
  return texts.flatMap((text) => (text ? [{ text, language, field }] : []))
}

function listTexts(weight: number, texts: readonly (string | undefined)[] = []) {
  return texts.flatMap((text) => (text ? [{ text, weight }] : []))
}

function toGroup(
  group: { code?: string; nameEnglish?: string } | undefined,
  primary: boolean,
): SearchGroup[] {
  if (group?.code === undefined) return []
  const { code, nameEnglish } = group
  return [
    { code, ...(nameEnglish !== undefined && { nameEnglish }), relation: primary ? 'Primary' : 'Secondary' },
  ]
}

/** Removes duplicates of groups; a Primary relation takes precedence. */
function primaryFirst(groups: readonly SearchGroup[]): SearchGroup[] {
  const sorted = [...groups].sort(
    (a, b) => Number(b.relation === 'Primary') - Number(a.relation === 'Primary'),
  )
  return [...new Map(sorted.toReversed().map((group) => [group.code, group])).values()].reverse()
}
