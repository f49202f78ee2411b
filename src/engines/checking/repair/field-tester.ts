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
  /** The code of each text that it is without its leading zeros; `undefined` if there are several. */
  readonly codes: ReadonlyMap<string, string | undefined>
}

/** @param isActive whether a kind of check is in force for the field */
export function compileTester(field: Field, isActive: (kind: string) => boolean, asOf: string): FieldTester {
  // Whether a value may be absent is not a question of its form.
  const isValid = compileTest(field, (kind) => kind !== 'required' && isActive(kind), asOf)
  const reportsSpaces = !field.keepSpaces && isActive('spaces')
  const needsValue = field.required && isActive('required')
  return { field, reportsSpaces, needsValue, isValid, codes: listCodes(field, isValid) }
}

/** The codes of a fixed list that consist of digits and begin with 0, by their text without leading zeros. */
function listCodes({ permitted, type }: Field, isValid: FieldTester['isValid']): FieldTester['codes'] {
  const codes = new Map<string, string | undefined>()
  if (permitted === undefined || type !== 'string') return codes
  for (const value of new Set(permitted.map((each) => each.value))) {
    if (!/^0\d+$/.test(value) || !isValid(value)) continue
    const short = value.replace(/^0+(?=\d)/, '')
    codes.set(short, codes.has(short) ? undefined : value)
  }
  return codes
}
