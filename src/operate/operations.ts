import type { Audit } from '../api/access/audit.ts'
import type { Operation } from '../api/contract/contract.ts'
import type { Database } from '../foundation/database/database.ts'
import { getOverview } from './get-overview.ts'
import { getOrganisation } from './organisations/get-organisation.ts'
import { listAllOrganisations } from './organisations/list-organisations.ts'
import { resumeOrganisation } from './organisations/resume-organisation.ts'
import { suspendOrganisation } from './organisations/suspend-organisation.ts'

export function operateOperations(database: Database, audit: Pick<Audit, 'refusals'>): readonly Operation[] {
  return [
    getOverview(database, audit),
    listAllOrganisations(database),
    getOrganisation(database),
    suspendOrganisation(database),
    resumeOrganisation(database),
  ]
}
