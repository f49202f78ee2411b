import type { Field } from '../definition/definition.ts'
import { compileTest } from '../engine/natures.ts'

/** Whether values of a field pass its checks that are in force. */
export interface FieldTester {
  readonly field: Field
  /** Whether spaces around a value are a finding. */
  readonly reportsSpaces: boolean
  /** Whether an absent value is a finding. */
  readonly needsValue: boolean
  readonly isValid: (value: string) => boolean
}

/** @param isActive whether a kind of check is in force for the field */
export function compileTester(field: Field, isActive: (kind: string) => boolean, asOf: string): FieldTester {
  // Whether a value may be absent is not a question of its form.
  const isValid = compileTest(field, (kind) => kind !== 'required' && isActive(kind), asOf)
  const reportsSpaces = !field.keepSpaces && isActive('spaces')
  return { field, reportsSpaces, needsValue: field.required && isActive('required'), isValid }
}
