import { getOrMake } from '../../../foundation/get-or-make.ts'
import { increment } from '../../../foundation/increment.ts'
import type { Check, Resource } from '../definition/definition.ts'
import type { FileOf } from './file-state.ts'
import type { SeenFinding } from './seen-finding.ts'

/** With fewer findings, it is chance that their records share a value. */
const LEAST = 5
/** The part of a rule's findings that must share one of the few values. */
const SHARE = 0.9
const MOST_SHARED = 3
/** The distinct values that are counted of a field. */
const COUNTED = 64

interface RuleCount {
  readonly resource: Resource
  findings: number
  readonly fields: Map<number, Map<string, number>>
  readonly needs: readonly number[]
  chosen: { readonly field: number; readonly values: ReadonlySet<string> } | undefined
}

/**
 * What the records of a rule's findings have in common: a value of one field that is rare in the file, such as a
 * course. Rules that find the same records belong together.
 */
export class SharedValues {
  readonly #fileOf: FileOf
  readonly #rules = new Map<Check, RuleCount>()
  /** How many records two rules both find. */
  readonly #both = new Map<Check, Map<Check, number>>()
  readonly #leaders = new Map<Check, string>()
  #record = ''
  #checks: Check[] = []
  #isChosen = false

  constructor(fileOf: FileOf) {
    this.#fileOf = fileOf
  }

  add({ resource, check, name, record, cell }: SeenFinding, needs: readonly number[]): void {
    const rule = getOrMake(this.#rules, check, () => {
      return { resource, findings: 0, fields: new Map(), needs, chosen: undefined }
    })
    rule.findings++
    for (const field of resource.fields.keys()) {
      const values = getOrMake(rule.fields, field, () => new Map())
      const value = cell(field)
      if (value !== '' && (values.size < COUNTED || values.has(value))) increment(values, value)
    }
    const at = `${name}\n${record}`
    if (at !== this.#record) this.#checks = []
    this.#record = at
    for (const other of this.#checks) {
      const counts = getOrMake(this.#both, other, () => new Map())
      increment(counts, check)
    }
    this.#checks.push(check)
  }

  /** The field and value that a finding shares with nearly all others of its rule, or of a rule beside it. */
  find({ resource, check, cell }: SeenFinding): { field: string; value: string } | undefined {
    this.#choose()
    const chosen = this.#rules.get(check)?.chosen
    if (chosen === undefined) return undefined
    const value = cell(chosen.field)
    const field = resource.fields[chosen.field]?.name
    return field === undefined || !chosen.values.has(value) ? undefined : { field, value }
  }

  /** The code of the rule with which another one is fixed. */
  leaderOf(check: Check): string {
    this.#choose()
    return this.#leaders.get(check) ?? check.code
  }

  #choose(): void {
    if (this.#isChosen) return
    this.#isChosen = true
    for (const rule of this.#rules.values())
      if (rule.findings >= LEAST) rule.chosen = this.#chooseValues(rule)
    const rules = [...this.#rules].sort(
      ([one, first], [other, second]) => second.findings - first.findings || (one.code < other.code ? -1 : 1),
    )
    for (const [check, rule] of rules) {
      const leader = rules.find(([other, { findings, needs, resource }]) => {
        if (other === check || resource !== rule.resource || this.#leaders.has(other)) return false
        if (findings < rule.findings || (findings === rule.findings && other.code > check.code)) return false
        const both = this.#both.get(check)?.get(other) ?? this.#both.get(other)?.get(check) ?? 0
        return both >= rule.findings * SHARE && needs.some((field) => rule.needs.includes(field))
      })
      if (leader === undefined) continue
      this.#leaders.set(check, leader[0].code)
      rule.chosen = leader[1].chosen
    }
  }

  #chooseValues(rule: RuleCount): RuleCount['chosen'] {
    const { sample } = this.#fileOf(rule.resource.name)
    let best: { field: number; values: string[]; base: number } | undefined
    for (const [field, counts] of rule.fields) {
      const top = [...counts]
        .filter(([, count]) => count >= LEAST)
        .sort(([, one], [, other]) => other - one)
        .slice(0, MOST_SHARED)
      const values: string[] = []
      let covered = 0
      for (const [value, count] of top) {
        if (covered >= rule.findings * SHARE) break
        values.push(value)
        covered += count
      }
      if (covered < rule.findings * SHARE) continue
      const base =
        sample.filter((row) => values.includes(row[field] ?? '')).length / Math.max(1, sample.length)
      // A value that most records have explains nothing.
      if (base * 3 > covered / rule.findings) continue
      const isBetter =
        best === undefined ||
        values.length < best.values.length ||
        (values.length === best.values.length && base < best.base)
      if (isBetter) best = { field, values, base }
    }
    return best === undefined ? undefined : { field: best.field, values: new Set(best.values) }
  }
}
