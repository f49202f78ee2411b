import type { Reader } from '../../database/database.ts'
import { compareFields, type FieldDifference } from './fields.ts'

/** A record that is about to change. */
export interface RecordChange {
  readonly occupationCode: string
  readonly change: 'created' | 'updated' | 'deleted'
  /** The differing fields of an updated record, without its date. */
  readonly fields?: readonly FieldDifference[]
}

/** The changes that are about to be made. */
export interface ChangePreview {
  readonly records: readonly RecordChange[]
  /** The number of all changed records, including those listed. */
  readonly total: number
}

/** The most records listed in a preview. */
export const MAX_PREVIEWED = 100

/** Lists the first records in the tables `change` and `staged`, by code, and their fields. */
export async function previewChanges(reader: Reader): Promise<ChangePreview> {
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
  const counted = await reader.get<{ total: number }>('select count(*) as total from change')
  const records = rows.map(({ code, existed, before, after }): RecordChange => {
    if (existed === 0) return { occupationCode: code, change: 'created' }
    if (before === null || after === null) return { occupationCode: code, change: 'deleted' }
    const fields = compareFields(before, after)
    const content = fields.filter(({ field }) => field !== 'lastUpdatedDate')
    return { occupationCode: code, change: 'updated', fields: content.length > 0 ? content : fields }
  })
  return { records, total: counted?.total ?? 0 }
}
