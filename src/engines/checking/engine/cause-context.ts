import type { Definition, Resource } from '../definition/definition.ts'
import type { CheckUses } from './check-uses.ts'
import type { KeySearch } from './key-evidence.ts'

/** What the engine knows beside the findings. */
export interface CauseContext {
  readonly definition: Definition
  readonly uses: CheckUses
  /** That of the return, if it has one. */
  readonly returnYear: number | null
  /** The name of a resource's file. */
  readonly nameOf: (resource: Resource) => string
  /** The number of records of a file, without rows that are no records. */
  readonly recordsOf: (resource: string) => number
  /** The number of values of a field. */
  readonly valuesOf: (resource: Resource, field: number) => number
  /** Values of some records of a file, spread over all of it. */
  readonly sampleOf: (resource: Resource) => readonly (readonly string[])[]
  /** What is said of several faults of a header. */
  readonly describeGroup: (resource: Resource, group: string) => string | undefined
  /** Reads the records of a file again. */
  readonly scan: (resource: Resource, visit: (cell: (field: number) => string) => void) => void
  /** Finds keys of a file by their forms. */
  readonly findKeys: (resource: Resource, searches: readonly KeySearch[]) => void
}
