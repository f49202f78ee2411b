import type { Repaired } from '../../engines/checking/index.ts'

/** What a repair changes in the files of a submission, or what it would change. */
export interface RepairList extends Pick<Repaired, 'changes' | 'groups' | 'left'> {
  /** The causes that a check of the repaired files finds. */
  readonly causes?: readonly { readonly key: string; readonly codes: readonly string[] }[]
}

/** Names files as their definition does. */
export function toRepairList(
  { changes, groups, left }: Repaired,
  files: readonly { readonly resource: string; readonly name: string }[],
): RepairList {
  const names = new Map(files.map(({ name, resource }) => [name, resource]))
  const rename = <Each extends { readonly file: string }>(each: Each): Each => ({
    ...each,
    file: names.get(each.file) ?? each.file,
  })
  return { changes, groups: groups.map(rename), left: left.map(rename) }
}
