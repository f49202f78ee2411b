/**
 * The minor groups of the 2018 Standard Occupational Classification that end in 00; all others end in 000. The OEWS
 * file lists exactly these three.
 */
const MINOR_GROUPS_IN_HUNDREDS = new Map([
  ['15-1', '15-1200'],
  ['31-1', '31-1100'],
  ['51-5', '51-5100'],
])

/** The code of the minor group that an O*NET-SOC or SOC code belongs to. */
export function minorGroupOf(code: string): string {
  const start = code.slice(0, 4)
  return MINOR_GROUPS_IN_HUNDREDS.get(start) ?? `${start}000`
}

/** A minor group within its major group, with their names if known. */
export function relateMinorGroup(
  relation: 'Primary' | 'Secondary',
  code: string,
  names: ReadonlyMap<string, string> = new Map(),
) {
  const name = names.get(code)
  const majorCode = `${code.slice(0, 2)}-0000`
  const majorName = names.get(majorCode)
  return {
    minorGroupRelationType: relation,
    minorGroup: {
      code,
      ...(name && { nameEnglish: name }),
      majorGroups: [
        {
          majorGroupRelationType: 'Primary' as const,
          majorGroup: { code: majorCode, ...(majorName && { nameEnglish: majorName }) },
        },
      ],
    },
  }
}
