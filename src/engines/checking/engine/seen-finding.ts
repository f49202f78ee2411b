import type { RecordFault } from '../../records/index.ts'
import type { Check, Resource } from '../definition/definition.ts'
import type { FileFault } from './file-fault.ts'

/** A finding, with the record that it is about. */
export interface SeenFinding {
  readonly resource: Resource
  /** Name of the file. */
  readonly name: string
  readonly check: Check
  /** From 1; 0 is the file. */
  readonly record: number
  readonly line: number
  readonly field: string | undefined
  readonly message: string
  /** What is wrong, if the file, its header or the whole record is. */
  readonly fault?: FileFault | RecordFault | undefined
  readonly studentId: string
  /** The value of a field as the file has it. */
  readonly cell: (field: number) => string
}
