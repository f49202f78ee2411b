import { listKeys } from '../../api/access/keys.ts'
import { EID } from '../../api/access/principal.ts'
import { listSuspensions, type Suspension, storeSuspension } from '../../api/access/suspensions.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { formatKnown } from '../../foundation/text/timestamp.ts'
import { cancelRunsOf, NOTHING, sumUsage, type Usage } from '../../submissions/runs/by-organisation.ts'

/** An organisation that a key covers, that has submissions, or that is suspended: nothing else makes one known. */
export interface Organisation {
  readonly eid: string
  readonly suspension: Pick<Suspension, 'suspended' | 'reason'> | undefined
  /** Valid keys that cover it. */
  readonly keys: number
  readonly usage: Usage
}

/** All known organisations in the order of their EIDs, or only one. */
export async function listOrganisations(reader: Reader, only?: string): Promise<Organisation[]> {
  const [keys, suspensions, usage] = [
    await listKeys(reader),
    await listSuspensions(reader),
    await sumUsage(reader, only),
  ]
  const now = Date.now()
  const valid = new Map<string, number>()
  for (const { eids, revoked, expires } of keys)
    for (const eid of new Set(eids))
      valid.set(eid, (valid.get(eid) ?? 0) + (revoked === null && expires > now ? 1 : 0))
  const suspended = new Map(suspensions.map((suspension) => [suspension.eid, suspension]))
  return [...new Set([...valid.keys(), ...suspended.keys(), ...usage.keys()])]
    .filter((eid) => only === undefined || eid === only)
    .sort()
    .map((eid) => ({
      eid,
      suspension: suspended.get(eid),
      keys: valid.get(eid) ?? 0,
      usage: usage.get(eid) ?? NOTHING,
    }))
}

export async function findOrganisation(reader: Reader, eid: string): Promise<Organisation | undefined> {
  return (await listOrganisations(reader, eid))[0]
}

/**
 * Suspends an organisation: from now on, its requests are refused, and its runs that are queued or in progress are
 * cancelled. Nothing of it is deleted. It can be repeated.
 *
 * @param unknown whether an organisation may be suspended that nothing names yet
 * @returns the number of cancelled runs; `undefined` if the organisation is unknown
 */
export async function suspend(
  database: Database,
  { eid, reason, unknown = false }: { eid: string; reason: string; unknown?: boolean },
): Promise<{ cancelledRuns: number } | undefined> {
  if (!EID.test(eid)) return undefined
  if (!unknown && (await findOrganisation(database, eid)) === undefined) return undefined
  await storeSuspension(database, { eid, reason })
  // A request that was authorized before may still add a run: its worker looks again.
  return { cancelledRuns: await cancelRunsOf(database, eid) }
}

/** An organisation as the API and the commands show it. */
export function renderOrganisation({ eid, suspension, keys, usage }: Organisation) {
  return {
    eid,
    state: suspension === undefined ? ('Active' as const) : ('Suspended' as const),
    suspended: formatKnown(suspension?.suspended),
    reason: suspension?.reason || undefined,
    keys,
    submissions: usage.submissions,
    fileBytes: usage.bytes,
    runs: usage.runs,
    activeRuns: usage.active,
    findings: usage.findings,
  }
}
