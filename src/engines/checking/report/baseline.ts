import { existsSync } from 'node:fs'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { getOrMake } from '../../../foundation/get-or-make.ts'
import { increment } from '../../../foundation/increment.ts'
import { readLines } from '../engine/check-files.ts'
import type { Finding } from '../engine/summary.ts'

/** The comparison of a finding with an earlier run. */
export type Standing = 'new' | 'open'

/** The number of changed findings since an earlier run. */
export interface Change {
  fresh: number
  open: number
  fixed: number
}

interface Known {
  readonly code: string
  readonly count: number
}

/** The findings of an earlier run by key. */
export class Baseline {
  readonly #known = new Map<string, Known>()

  /** @throws {UserError} if the file is not the output of `mahi check --format ndjson` */
  static async read(path: string): Promise<Baseline> {
    if (!existsSync(path)) throw new UserError([{ file: path, message: 'does not exist' }])
    const baseline = new Baseline()
    let line = 0
    for await (const text of readLines(path)) {
      line++
      const finding = parse(text)
      if (finding === undefined) {
        const message = 'is not a finding of an earlier run, which --format ndjson writes'
        throw new UserError([{ file: path, line, message }])
      }
      const { findingKey, errorCode } = finding
      const before = baseline.#known.get(findingKey)?.count ?? 0
      baseline.#known.set(findingKey, { code: errorCode, count: before + 1 })
    }
    return baseline
  }

  /** Starts a comparison. Findings of the same key match as many times as they occur in the earlier run. */
  compare(): (finding: Finding) => Standing {
    const again = new Map<string, number>()
    return ({ findingKey }) => {
      const known = this.#known.get(findingKey)
      if (known === undefined) return 'new'
      return increment(again, findingKey) > known.count ? 'new' : 'open'
    }
  }

  /** Counts the changes from the earlier run to these findings by code. */
  async countChanges(findings: AsyncIterable<Finding>): Promise<Map<string, Change>> {
    const changes = new Map<string, Change>()
    const changeOf = (code: string) => getOrMake(changes, code, () => ({ fresh: 0, open: 0, fixed: 0 }))
    for (const { code, count } of this.#known.values()) changeOf(code).fixed += count
    const standingOf = this.compare()
    for await (const finding of findings) {
      const change = changeOf(finding.errorCode)
      if (standingOf(finding) === 'new') change.fresh++
      else {
        change.open++
        change.fixed--
      }
    }
    return changes
  }
}

/** Adds up the changes of all codes. */
export function sumChanges(changes: ReadonlyMap<string, Change>): Change {
  const total: Change = { fresh: 0, open: 0, fixed: 0 }
  for (const { fresh, open, fixed } of changes.values()) {
    total.fresh += fresh
    total.open += open
    total.fixed += fixed
  }
  return total
}

function parse(text: string): Finding | undefined {
  try {
    const finding = JSON.parse(text) as Partial<Finding>
    return typeof finding.findingKey === 'string' && typeof finding.errorCode === 'string'
      ? (finding as Finding)
      : undefined
  } catch {
    return undefined
  }
}
