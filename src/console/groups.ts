import type { OccupationGroups, OccupationMajorGroup } from '../../client/src/types.ts'
import type { Api, Having } from './api.ts'

/** A major group with the number of its occupations. */
export type Group = Having<OccupationMajorGroup, 'code'>

/** The major groups. */
export async function listGroups(api: Api): Promise<readonly Group[]> {
  const { majorGroups = [] } = await api.call<OccupationGroups>('/occupation-groups')
  return majorGroups as readonly Group[]
}
