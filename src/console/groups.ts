import type { Api } from './api.ts'

/** A major group with the number of its occupations. */
export interface Group {
  readonly code: string
  readonly nameEnglish?: string
  readonly nameMaori?: string
  readonly descriptionEnglish?: string
  readonly primaryCount: number
  readonly totalCount: number
}

/** The major groups. */
export async function listGroups(api: Api): Promise<readonly Group[]> {
  const { groups } = await api.call<{ groups: readonly (Group & { level: string })[] }>('/occupation-groups')
  return groups.filter(({ level }) => level === 'major')
}
