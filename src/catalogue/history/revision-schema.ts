import { count, flag, listOf, refer, strings, text, time } from '../../api/contract/fields.ts'
import { Type } from '../../foundation/schema/type.ts'
import { OccupationRecord } from '../records/schema.ts'

const record = (description: string) => Type.Optional({ ...refer(OccupationRecord), description })

/** The origin of a state of the catalogue. */
const OccupationRevision = Type.Object(
  {
    revision: count('Number of the revision.'),
    stored: time('When it was stored.'),
    command: text('The command that stored it, such as `import`.'),
    files: strings('The names of the imported files.'),
    created: count('Records that were new.'),
    updated: count('Records that were changed.'),
    removed: count('Records that were removed.'),
    totalCount: count('Records in the catalogue.'),
    readable: flag('Whether its content is still kept: `HISTORY_DAYS` says for how long.'),
    payBasis: Type.Optional(
      text(
        'The currency, year and country of its amounts of pay, such as `NZD 2025, New Zealand`; absent if no import stated them.',
      ),
    ),
  },
  { title: 'OccupationRevision', description: 'A revision of the catalogue.' },
)

export const OccupationRevisions = Type.Object(
  { revisions: listOf(OccupationRevision, 'The revisions, newest first.') },
  { title: 'OccupationRevisions', description: 'The latest revisions of the catalogue.' },
)

const FieldDifference = Type.Object(
  {
    field: text('The path of the field, such as `renumeration.payLowerBound`.'),
    before: Type.Optional(Type.Unknown({ description: 'Its earlier value; absent if it had none.' })),
    after: Type.Optional(Type.Unknown({ description: 'Its later value; absent if it has none.' })),
  },
  {
    title: 'FieldDifference',
    description: 'A field that differs between two revisions. Lists are compared as a whole.',
  },
)

const OccupationDifference = Type.Object(
  {
    occupationCode: text('The code.'),
    before: record('The record in the earlier revision; absent if it did not exist.'),
    after: record('The record in the later revision; absent if it was removed.'),
    fields: listOf(FieldDifference, 'The fields that differ, of a record that both revisions have.'),
    replacedBy: strings('The codes that succeed a removed one.'),
  },
  { title: 'OccupationDifference', description: 'A record that differs between two revisions.' },
)

export const OccupationDifferences = Type.Object(
  {
    revision: count('The later revision.'),
    since: count('The revision that it is compared with.'),
    differences: listOf(OccupationDifference, 'The records that differ, by code.'),
    complete: flag('Whether these are all of them: at most 200 are listed.'),
    next: text('The value of `After` that reads on; absent if these are all of them.'),
  },
  { title: 'OccupationDifferences', description: 'How two revisions of the catalogue differ.' },
)
