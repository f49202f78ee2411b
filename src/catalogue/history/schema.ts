import { count, int32Count, listOf, oneOf, refer, text, time, upTo } from '../../api/contract/fields.ts'
import { Type } from '../../foundation/schema/type.ts'
import { MAX_CODE_LENGTH, OccupationRecord } from '../records/schema.ts'

const code = (description: string) => Type.String({ description, minLength: 1, maxLength: MAX_CODE_LENGTH })

/** An entry of the change feed. */
const OccupationChange = Type.Object(
  {
    change: oneOf(
      ['created', 'updated', 'removed'],
      'What happened to the code since the token. Store a created and an updated record alike.',
    ),
    occupationCode: Type.Optional(code('The code.')),
    record: Type.Optional(refer(OccupationRecord)),
    removedDate: time('When a removed code left the catalogue.'),
    replacedBy: Type.Optional(
      Type.Array(code('A code.'), { description: 'The codes that succeed a removed one.', minItems: 1 }),
    ),
  },
  { title: 'OccupationChange', description: 'A code that was created, updated or removed.' },
)

/** A page of the change feed. */
export const OccupationChanges = Type.Object(
  {
    next: text('The token of the next page; absent on the last page.'),
    delta: text('The token for later changes; present on the last page only.'),
    totalCount: int32Count('Number of records in the catalogue.'),
    revision: count('Number of the revision; it goes back only after a restore from a backup.'),
    digest: text(
      "SHA-256 of the catalogue's NDJSON at this revision, in base64, as in the NDJSON-Digest of its snapshot: a copy that has applied the changes has the same. On the last page, unless the digest is still being computed.",
    ),
    changes: listOf(OccupationChange, 'Each changed code, ordered by the revision that changed it.'),
    resultsCount: int32Count('Number of changes on this page.'),
  },
  { title: 'OccupationChanges', description: 'A page of changes of the catalogue.' },
)

/** The longest token, in characters: several times as long as this version creates. */
const MAX_TOKEN_LENGTH = 1024

/** The query parameters of the change feed. */
export function changesQuery(limits: { max: number }) {
  return Type.Object({
    Since: text(
      'The `delta` of an earlier response or the Delta-Token of a snapshot; or the `next` of the page before. `latest` returns only the token of the current state. Without it, every record is returned as created.',
      { maxLength: MAX_TOKEN_LENGTH },
    ),
    Limit: upTo(
      limits.max,
      limits.max,
      `Number of changes per page, from 1 to ${limits.max}. A larger number is refused, never clamped.`,
    ),
  })
}
