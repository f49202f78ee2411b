import type { Check, Definition } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'
import { type CheckUses, listCheckUses } from './check-uses.ts'
import type { FileOf } from './file-state.ts'
import { selectChecks } from './selection.ts'
import type { NotRun } from './summary.ts'
import { UndecidedCounts } from './unknown.ts'

/** Which checks run, and why the others do not. */
export class Plan {
  readonly uses: CheckUses
  readonly notRun = new Map<Check, Omit<NotRun, 'code'>>()
  readonly undecided: UndecidedCounts = new UndecidedCounts()
  readonly #fileOf: FileOf
  readonly #positions = new Map<Check, number>()
  readonly #isInForce: (check: Check) => boolean

  /** @param only the codes to check, all if empty; they may be drafts */
  constructor(definition: Definition, parameters: Parameters, only: readonly string[], fileOf: FileOf) {
    this.uses = listCheckUses(definition)
    this.#fileOf = fileOf
    const [isSelected, isInForce] = [selectChecks(parameters, only), selectChecks(parameters, [])]
    this.#isInForce = (check) => isInForce(check) || isSelected(check)
    for (const { checks } of definition.resources)
      for (const [position, check] of checks.entries())
        if (isSelected(check)) this.#positions.set(check, position)
  }

  /** The position of a check in its file, or -1 if it does not run. */
  position(check: Check | undefined): number {
    return check === undefined || this.notRun.has(check) ? -1 : (this.#positions.get(check) ?? -1)
  }

  /** Whether a check decides which values are known, reported or not. */
  isInForce(check: Check | undefined): boolean {
    return check !== undefined && this.#isInForce(check)
  }

  /** Leaves out a check that cannot run over these files. */
  skip(check: Check, reason: string): void {
    if (!this.notRun.has(check)) this.notRun.set(check, { reason })
  }

  /** Leaves out a check that was stopped. */
  stop(check: Check, reason: string): void {
    const blocks = check.severity === 'Error' || check.needsExplanation
    this.notRun.set(check, { reason, ...(blocks && { blocks }) })
  }

  /** The position of a check that runs over these files; otherwise -1, and it is left out with the reason. */
  admit(check: Check): number {
    const position = this.position(check)
    const reason = position === -1 ? undefined : this.#obstacle(check)
    if (reason === undefined) return position
    this.skip(check, reason)
    return -1
  }

  /** The reason why a check cannot run, if any: a file or a column that it reads is missing. */
  #obstacle(check: Check): string | undefined {
    for (const { resource, fields } of this.uses.get(check) ?? []) {
      const { name, absence, open } = this.#fileOf(resource.name)
      if (absence !== undefined) return absence
      const field = fields.find((each) => open?.columns.missing.has(each))
      if (field !== undefined) return `The file ${name} has no column ${resource.fields[field]?.name}.`
    }
    return undefined
  }
}
