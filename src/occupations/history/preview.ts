import type { Reader } from '../../database/database.ts'
import { compareFields, type FieldDifference } from './fields.ts'

/** A record that is about to change. */
export interface RecordChange {
  readonly occupationCode: string
  readonly change: 'created' | 'updated' | 'deleted'
  /** Of an updated record, without its date. */
  readonly fields?: readonly FieldDifference[]
}

/** What is about to change. */
export interface ChangePreview {
  readonly records: readonly RecordChange[]
  /** Changed records in all, the named ones among them. */
  readonly total: number
}

/** Most records that a preview names. */
export const MAX_PREVIEWED = 100

/** Names the first records that the tables `change` and `staged` list, by code, and their fields. */
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
