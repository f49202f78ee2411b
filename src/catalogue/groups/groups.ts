import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import { compareCodePoints } from '../../foundation/text/code-points.ts'
import { quote } from '../../foundation/text/quote.ts'
import type { RenderedPage } from '../records/catalogue.ts'
import { PRIMARY } from '../records/primary.ts'
import { CATALOGUE, toRevision } from '../records/rows.ts'
import type { OccupationRecord } from '../records/schema.ts'
import { nearest, suggestCodes } from '../records/similar-codes.ts'
import type { CountedMajorGroup, CountedMinorGroup, OccupationGroups } from './schema.ts'

/** The most codes searched for similar ones. */
const MOST_COMPARED = 5_000

interface GroupRow {
  readonly major: string
  readonly minor: string
  readonly total: number
  readonly primary_total: number | null
  readonly document: string | null
}

/** All groups that have records, with the stored counts. */
export async function readGroups(reader: Reader): Promise<RenderedPage> {
  const { revision, rows } = await selectGroups(reader)
  return { revision, body: renderGroups(rows) }
}

/**
 * Reads the groups with a code: a major group, a minor group, or both.
 *
 * @throws {Problem} `no-such-group` with similar codes
 */
export async function readGroup(reader: Reader, code: string): Promise<RenderedPage> {
  const { revision, rows } = await selectGroups(reader, 'and (f.major = $2 or f.minor = $2)', [code])
  if (rows.length > 0) return { revision, body: renderGroups(rows) }

  const known = await reader.all<{ code: string }>(
    `select major || minor as code from occupation_filter
     where (major = '') <> (minor = '') and substr(major || minor, 1, 1) <> $1
     order by 1 limit ${MOST_COMPARED}`,
    [PRIMARY],
  )
  const similar = nearest(code, [...new Set(known.map((row) => row.code))])
  throw new Problem('no-such-group', `No group has the code ${quote(code)}.${suggestCodes(similar)}`, {
    members: { similarCodes: similar },
  })
}

/** The groups in one statement, and so of one revision; each comes with one document. */
async function selectGroups(
  reader: Reader,
  condition = '',
  parameters: readonly string[] = [],
): Promise<{ revision: Revision; rows: GroupRow[] }> {
  const rows = await reader.all<Revision & Partial<GroupRow>>(
    `select ${CATALOGUE}, g.*
     from (select 1 as one) head left join (
       select f.major, f.minor, f.total,
         (select p.total from occupation_filter p
          where p.major = case when f.major = '' then '' else $1 || f.major end
            and p.minor = case when f.minor = '' then '' else $1 || f.minor end) as primary_total,
         (select o.document from occupation_posting p join occupation o on o.code = p.code
          where p.filter = f.id order by p.code limit 1) as document
       from occupation_filter f
       where (f.major = '') <> (f.minor = '') and substr(f.major || f.minor, 1, 1) <> $1 ${condition}
     ) g on true order by g.major, g.minor`,
    [PRIMARY, ...parameters],
  )
  return {
    revision: toRevision(rows[0]),
    rows: rows.flatMap(({ major, minor, total = 0, primary_total = null, document = null }) =>
      major == null || minor == null ? [] : [{ major, minor, total, primary_total, document }],
    ),
  }
}

function renderGroups(rows: readonly GroupRow[]): Buffer {
  const groups: OccupationGroups = {
    majorGroups: rows.filter(({ minor }) => minor === '').map(describeMajor),
    minorGroups: rows.filter(({ minor }) => minor !== '').map(describeMinor),
  }
  return Buffer.from(JSON.stringify(groups))
}

/** The name and the texts of a group are those in its first record by code. */
function describeMajor({ major, total, primary_total, document }: GroupRow): CountedMajorGroup {
  const found = relationsIn(document)
    .flatMap(({ minorGroup }) => minorGroup?.majorGroups ?? [])
    .find(({ majorGroup }) => majorGroup?.code === major)?.majorGroup
  return { ...found, code: major, primaryCount: Number(primary_total ?? 0), totalCount: Number(total) }
}

function describeMinor({ minor, total, primary_total, document }: GroupRow): CountedMinorGroup {
  const found = relationsIn(document).find(({ minorGroup }) => minorGroup?.code === minor)?.minorGroup
  const { majorGroups = [], ...texts } = found ?? {}
  const above = majorGroups.flatMap(({ majorGroupRelationType, majorGroup }) =>
    majorGroup?.code === undefined
      ? []
      : [
          {
            ...(majorGroupRelationType !== undefined && { majorGroupRelationType }),
            majorGroupCode: majorGroup.code,
          },
        ],
  )
  return {
    ...texts,
    code: minor,
    ...(above.length > 0 && {
      majorGroups: above.sort((a, b) => compareCodePoints(a.majorGroupCode, b.majorGroupCode)),
    }),
    primaryCount: Number(primary_total ?? 0),
    totalCount: Number(total),
  }
}

function relationsIn(document: string | null): NonNullable<OccupationRecord['minorGroups']> {
  return document === null ? [] : ((JSON.parse(document) as OccupationRecord).minorGroups ?? [])
}
