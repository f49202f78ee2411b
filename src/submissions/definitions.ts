import type { Definition, Resource } from '../checks/definition/definition.ts'
import { findDefinition, listOwnDefinitions, loadDefinition } from '../checks/definition/load.ts'
import type { FileForm } from './current-file.ts'

/** The definitions that submissions may be checked against, by name. */
export class Definitions {
  readonly #known = new Map<string, Definition>()
  /** The one that applies where a submission names none. */
  readonly first: string

  /**
   * @param given names of definitions that come with Mahi, or folders, the default one first
   * @throws {UserError} if one of them cannot be read
   */
  constructor(given: readonly string[] = listOwnDefinitions()) {
    for (const each of given) {
      const definition = loadDefinition(findDefinition(each))
      this.#known.set(definition.name, definition)
    }
    this.first = this.#known.keys().next().value ?? ''
  }

  get names(): string[] {
    return [...this.#known.keys()]
  }

  find(name: string): Definition | undefined {
    return this.#known.get(name)
  }

  /** @throws if a stored submission names a definition that the settings do not have any more */
  get(name: string): Definition {
    const definition = this.find(name)
    if (definition === undefined) throw new Error(`the setting DEFINITIONS does not have "${name}" any more`)
    return definition
  }

  formOf(name: string, resource: string): FileForm {
    const { fields = [], record } = this.findResource(name, resource) ?? {}
    const localId = record?.localId === undefined ? undefined : fields[record.localId]?.name
    return { fields, localId: localId ?? 'localId' }
  }

  findResource(name: string, resource: string): Resource | undefined {
    return this.find(name)?.resources.find((each) => each.name === resource)
  }
}
