import type { Definition, Resource, SqlRule } from '../../engines/checking/index.ts'
import {
  assertQueries,
  findDefinition,
  isUnusual,
  listOwnDefinitions,
  loadDefinition,
  ownEncoding,
} from '../../engines/checking/index.ts'

/** The available definitions of submissions, by name. */
export class Definitions {
  readonly #known = new Map<string, Definition | undefined>()
  readonly #rules = new Map<string, readonly SqlRule[]>()
  /** The default definition. */
  readonly first: string

  /**
   * @param given names of built-in definitions, or folders, the default one first
   * @throws {UserError} if a folder cannot be read
   */
  constructor(given: readonly string[] = listOwnDefinitions()) {
    const own = listOwnDefinitions()
    for (const each of given) {
      // A user's folder may have faults, which are reported at startup. The built-in definitions have the names of
      // their folders and are tested: they are loaded when they are needed, because that would delay the start.
      if (own.includes(each)) this.#known.set(each, undefined)
      else {
        const definition = loadDefinition(findDefinition(each))
        assertQueries(definition)
        this.#known.set(definition.name, definition)
      }
    }
    this.first = this.#known.keys().next().value ?? ''
  }

  get names(): string[] {
    return [...this.#known.keys()]
  }

  find(name: string): Definition | undefined {
    if (!this.#known.has(name)) return undefined
    const loaded = this.#known.get(name) ?? loadDefinition(findDefinition(name), { examples: false })
    this.#known.set(name, loaded)
    return loaded
  }

  /** A rule in SQL with its examples, which are read when one is asked for: only the page of a rule shows them. */
  findRule({ name, folder }: Definition, code: string): SqlRule | undefined {
    const rules = this.#rules.get(name) ?? loadDefinition(folder).resources.flatMap((each) => each.rules)
    this.#rules.set(name, rules)
    return rules.find(({ check }) => check.code === code)
  }

  /** @throws if the definition of a stored submission is no longer configured */
  get(name: string): Definition {
    const definition = this.find(name)
    if (definition === undefined) throw new Error(`the setting DEFINITIONS no longer contains "${name}"`)
    return definition
  }

  findResource(name: string, resource: string): Resource | undefined {
    return this.find(name)?.resources.find((each) => each.name === resource)
  }
}

/** The properties of a file that its definition specifies. */
export interface FileForm {
  /** The fields in column order. */
  readonly fields: readonly { readonly name: string; readonly delimiter: string }[]
  /** Whether the definition says how its lines end: another end is no fault to repair then. */
  readonly hasOwnDialect?: boolean
  /** The encoding in which it arrives, by its definition, unless that is UTF-8. */
  readonly encoding?: string
}

/** What the definition of a file says about its form. */
export function formOf(resource: Resource | undefined): FileForm {
  const { fields = [], dialect, encoding: stated } = resource ?? {}
  const encoding = ownEncoding(stated)
  return {
    fields: fields.map(({ name, delimiter }) => ({ name, delimiter })),
    hasOwnDialect: dialect !== undefined && isUnusual(dialect),
    ...(encoding !== undefined && { encoding }),
  }
}
