import type { Operation } from '../api/contract/contract.ts'
import { getGroup } from './groups/get-group.ts'
import { listGroups } from './groups/list-groups.ts'
import type { Catalogue } from './records/catalogue.ts'
import { getOccupation } from './records/get-occupation.ts'
import { listOccupations } from './records/list-occupations.ts'

export interface OccupationOptions {
  readonly catalogue: Catalogue
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** Records per page. */
  readonly limits: { readonly default: number; readonly max: number }
}

export function occupationOperations(options: OccupationOptions): readonly Operation[] {
  return [listOccupations(options), getOccupation(options), listGroups(options), getGroup(options)]
}
