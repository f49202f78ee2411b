import type { OccupationGroups, OccupationMajorGroup, OccupationMinorGroup } from '../../client/src/types.ts'
import type { Api, Having } from './api.ts'

/** A major group with the number of its occupations. */
export type Group = Having<OccupationMajorGroup, 'code'>

type MinorGroup = Having<OccupationMinorGroup, 'code'>

/** The major groups, and the minor groups of which a major group is the Primary one. */
export async function listGroups(
  api: Api,
  major: string | undefined,
): Promise<{ readonly majors: readonly Group[]; readonly minors: readonly MinorGroup[] }> {
  const { majorGroups = [], minorGroups = [] } = await api.call<OccupationGroups>('/occupation-groups')
  const minors = minorGroups.filter(({ majorGroups: above = [] }) =>
    above.some(
      ({ majorGroupCode, majorGroupRelationType }) =>
        majorGroupCode === major && majorGroupRelationType === 'Primary',
    ),
  )
  return { majors: majorGroups as readonly Group[], minors: minors as readonly MinorGroup[] }
}
