import type { Api } from './api.ts'

/** A major group with the number of its occupations. */
export interface Group {
  readonly code: string
  readonly nameEnglish?: string
  readonly primaryCount?: number
  readonly totalCount?: number
}

/** The major groups. */
export async function listGroups(api: Api): Promise<readonly Group[]> {
  const { majorGroups = [] } = await api.call<{ majorGroups?: readonly Group[] }>('/occupation-groups')
  return majorGroups
}
