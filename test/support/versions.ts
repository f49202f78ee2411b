import { expect } from 'vitest'
import { type OccupationPage, pageOf, type SampleRecord } from './catalogue.ts'

/** A record of a catalogue all of whose records tell which import they came with. */
export interface VersionedRecord extends SampleRecord {
  /** The import that last changed it. */
  readonly version: number
}

export interface VersionFilter {
  /** Only what this group has; the empty text is no group. */
  readonly minor: string
  /** Only what an import after this one has changed. */
  readonly after?: number | undefined
}

const CODES = Array.from({ length: 60 }, (_, index) => `C${String(index).padStart(3, '0')}`)

/** What the catalogue holds after each import; the next one is known before anybody can see it. */
export class Versions {
  /** By the number of the import, which is that of the catalogue's revision; before the first there is nothing. */
  readonly #states: (readonly VersionedRecord[])[] = [[]]
  /** The date of each import, as soon as it was seen. */
  readonly #dates = new Map<number, string>()

  /** The records of the next import, and whether those that it does not hold are deleted. */
  next(): { records: readonly SampleRecord[]; replace: boolean } {
    const version = this.#states.length
    const before = this.#states[version - 1] ?? []
    const replace = version % 2 === 1
    // Every third record comes and goes. Every second one changes its group each time.
    const changed = CODES.flatMap((occupationCode, index): VersionedRecord[] => {
      const there = replace ? index % 3 !== 2 || version % 4 === 1 : (index + version) % 3 === 0
      const group = index % 2 === 0 ? 11 + (index % 4) / 2 : 11 + (version % 2)
      return there ? [{ ...describe(occupationCode, version, String(group)), version }] : []
    })
    const codes = new Set(changed.map(({ occupationCode }) => occupationCode))
    const kept = replace ? [] : before.filter(({ occupationCode }) => !codes.has(occupationCode))
    this.#states.push([...kept, ...changed].sort((a, b) => (a.occupationCode < b.occupationCode ? -1 : 1)))
    return { records: changed.map(({ version: _, ...record }) => record), replace }
  }

  /** An import whose date is known, and the date. */
  pickDate(random: number): { version: number; date: string } | undefined {
    const known = [...this.#dates]
    const [version, date] = known[random % Math.max(1, known.length)] ?? []
    return version === undefined || date === undefined ? undefined : { version, date }
  }

  learnDate(version: number, date: string): void {
    expect(this.#dates.get(version) ?? date).toBe(date)
    this.#dates.set(version, date)
  }

  /** Fails unless a page is, in every field, the page of this one version. */
  assertPage(
    page: OccupationPage,
    version: number,
    filter: VersionFilter,
    { limit, cursor }: { limit: number; cursor: string },
  ): void {
    const expected = pageOf(this.#list(version, filter), limit, cursor)
    const data = expected.data.map((record) => withoutDateAndVersion(record))
    expect({ ...page, data: page.data.map((record) => withoutDateAndVersion(record)) }).toEqual({
      ...expected,
      data,
    })
    for (const [index, { lastUpdatedDate }] of page.data.entries()) {
      this.learnDate((expected.data[index] as unknown as VersionedRecord).version, lastUpdatedDate)
    }
  }

  /** Fails unless a walk saw everything once that matched in each of the versions, and nothing twice. */
  assertWalk(codes: readonly string[], versions: readonly number[], filter: VersionFilter): void {
    expect(codes).toEqual([...new Set(codes)].sort())
    const [first, last] = [Math.min(...versions), Math.max(...versions)]
    const seen = new Set(codes)
    const throughout = this.#list(first, filter)
      .map(({ occupationCode }) => occupationCode)
      .filter((code) => {
        for (let version = first + 1; version <= last; version++) {
          if (!this.#list(version, filter).some(({ occupationCode }) => occupationCode === code)) return false
        }
        return true
      })
    expect(throughout.filter((code) => !seen.has(code))).toEqual([])
  }

  #list(version: number, { minor, after = 0 }: VersionFilter): VersionedRecord[] {
    const state = this.#states[version]
    if (state === undefined) throw new Error(`nobody has imported version ${version}`)
    return state.filter(
      (record) =>
        record.version > after &&
        (minor === '' || record.minorGroups?.some(({ minorGroup }) => minorGroup.code === minor)),
    )
  }
}

function describe(occupationCode: string, version: number, group: string): SampleRecord {
  return {
    occupationCode,
    titleEnglish: `Version ${version} of ${occupationCode}`,
    minorGroups: [{ minorGroupRelationType: 'Primary', minorGroup: { code: group } }],
  }
}

function withoutDateAndVersion(record: SampleRecord): object {
  const { lastUpdatedDate: _, version: __, ...rest } = record as VersionedRecord
  return rest
}
