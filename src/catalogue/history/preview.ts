import type { Reader } from '../../foundation/database/database.ts'
import { compareFields, type FieldDifference } from './fields.ts'

/** A record that is about to change. */
export interface RecordChange {
  readonly occupationCode: string
  /** The English title, or else the one in te reo Māori; of a deleted record, its last. */
  readonly title?: string
  readonly change: 'created' | 'updated' | 'deleted'
  /** The differing fields of an updated record, without its date. */
  readonly fields?: readonly FieldDifference[]
}

/** The most records listed in a preview. */
export const MAX_PREVIEWED = 100

/** Lists the first records in the tables `change` and `staged`, by code, and their fields. */
export async function previewChanges(reader: Reader): Promise<RecordChange[]> {
  const rows = await reader.all<{
    code: string
    existed: number
    staged: number
    before: string | null
    after: string | null
  }>(
    `select c.code, c.existed, c.staged, o.document as before, s.document as after
     from (select * from change order by code limit ${MAX_PREVIEWED}) c
       left join occupation o on o.code = c.code
       left join staged s on s.code = c.code and c.staged = 1
     order by c.code`,
  )
  return rows.map(({ code, existed, before, after }) => {
    const change = toChange(code, existed === 0 ? undefined : (before ?? undefined), after ?? undefined)
    const content = change.fields?.filter(({ field }) => field !== 'lastUpdatedDate') ?? []
    return content.length > 0 ? { ...change, fields: content } : change
  })
}

/** The change of a record from one document to another. */
export function toChange(
  occupationCode: string,
  before: string | undefined,
  after: string | undefined,
): RecordChange {
  const { titleEnglish, titleMaori } = JSON.parse(after ?? before ?? '{}') as {
    titleEnglish?: string
    titleMaori?: string
  }
  const title = titleEnglish ?? titleMaori
  const named = { occupationCode, ...(title !== undefined && { title }) }
  if (before === undefined) return { ...named, change: 'created' }
  if (after === undefined) return { ...named, change: 'deleted' }
  return { ...named, change: 'updated', fields: compareFields(before, after) }
}
