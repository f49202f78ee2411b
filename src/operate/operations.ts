import type { Audit } from '../api/access/audit.ts'
import type { Operation } from '../api/contract/contract.ts'
import type { Database } from '../foundation/database/database.ts'
import { getOverview } from './get-overview.ts'
import { organisationOperations } from './organisations/operations.ts'

export function operateOperations(database: Database, audit: Pick<Audit, 'refusals'>): readonly Operation[] {
  return [getOverview(database, audit), ...organisationOperations(database)]
}
