import { createHash } from 'node:crypto'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { showEnd, showInstant } from '../../foundation/text/zoned-time.ts'

/** A return that the service collects. */
export interface CollectedReturn {
  readonly returnId: string
  readonly name: string
  readonly definition: string
  readonly version: string
  readonly type: 'Full' | 'Indicative'
  /** Milliseconds since 1970; it is open until just before `closes`. */
  readonly opens: number
  readonly due: number
  readonly closes: number
  /** The organisations that are expected to submit it; all if absent. */
  readonly eids?: readonly string[]
  readonly notes?: string
  /** The time zone in which its dates are shown. */
  readonly zone: string
}

interface ReturnRow extends Omit<CollectedReturn, 'eids' | 'notes'> {
  readonly eids: string | null
  readonly notes: string | null
}

const COLUMNS = [
  'return_id as "returnId"',
  'name',
  'definition',
  'version',
  'type',
  'opens',
  'due',
  'closes',
  'eids',
  'notes',
  'zone',
].join(', ')

function toReturn({ eids, notes, ...row }: ReturnRow): CollectedReturn {
  return {
    ...row,
    ...(eids !== null && { eids: JSON.parse(eids) as string[] }),
    ...(notes !== null && { notes }),
  }
}

/** All returns, the one that opens last first. */
export async function listReturns(reader: Reader): Promise<CollectedReturn[]> {
  const rows = await reader.all<ReturnRow>(
    `select ${COLUMNS} from collected_return order by opens desc, return_id`,
  )
  return rows.map(toReturn)
}

export async function findReturn(reader: Reader, returnId: string): Promise<CollectedReturn | undefined> {
  const row = await reader.get<ReturnRow>(`select ${COLUMNS} from collected_return where return_id = $1`, [
    returnId.replaceAll('\0', '\ufffd'),
  ])
  return row === undefined ? undefined : toReturn(row)
}

/** Whether an organisation is expected to submit a return. */
export function isExpected({ eids }: CollectedReturn, eid: string): boolean {
  return eids === undefined || eids.includes(eid)
}

export const WINDOWS = ['NotOpen', 'Open', 'Overdue', 'Closed'] as const

export function windowOf(
  { opens, due, closes }: CollectedReturn,
  now = Date.now(),
): (typeof WINDOWS)[number] {
  if (now < opens) return 'NotOpen'
  if (now >= closes) return 'Closed'
  return now < due ? 'Open' : 'Overdue'
}

/** The dates of a return in words, such as after `Return 202512`. */
export function describeWindow({ opens, closes, zone }: CollectedReturn): string {
  return `opens ${showInstant(opens, zone)} and closes ${showEnd(closes, zone)}`
}

export interface StoredReturn {
  readonly returnId: string
  readonly change: 'created' | 'updated' | 'unchanged'
}

/**
 * Stores returns, each instead of the earlier one with its id, and says which of them that changed.
 *
 * @param assertWanted called before each is stored with the earlier one, and whether that would change
 */
export async function storeReturns(
  database: Database,
  returns: readonly CollectedReturn[],
  assertWanted: (known: CollectedReturn | undefined, changes: boolean) => void = () => undefined,
): Promise<StoredReturn[]> {
  return await database.write('job:returns', async (writer) => {
    const stored: StoredReturn[] = []
    for (const each of returns) {
      const known = await findReturn(writer, each.returnId)
      const { returnId } = each
      const isUnchanged = known !== undefined && returnEtag(known) === returnEtag(each)
      assertWanted(known, !isUnchanged)
      if (isUnchanged) {
        stored.push({ returnId, change: 'unchanged' })
        continue
      }
      stored.push({ returnId, change: known === undefined ? 'created' : 'updated' })
      const { name, definition, version, type, opens, due, closes, eids, notes, zone } = each
      await writer.run('delete from collected_return where return_id = $1', [returnId])
      await writer.run(
        `insert into collected_return
           (return_id, name, definition, version, type, opens, due, closes, eids, notes, zone)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [
          ...[returnId, name, definition, version, type, opens, due, closes],
          eids === undefined ? null : JSON.stringify(eids),
          notes ?? null,
          zone,
        ],
      )
    }
    return stored
  })
}

/** Identifies a state of a return. */
export function returnEtag(given: CollectedReturn): string {
  const content = JSON.stringify(Object.entries(given).sort())
  return `"${createHash('sha256').update(content).digest('hex').slice(0, 32)}"`
}
