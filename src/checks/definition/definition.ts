/** A loaded definition, complete and without faults. See docs/definitions.md. */
export interface Definition {
  readonly folder: string
  readonly name: string
  readonly version: string
  readonly title: string
  /** A sentence that every report shows. */
  readonly notice: string | undefined
  readonly returns: { readonly default: string | undefined; readonly pattern: RegExp | undefined }
  readonly resources: readonly Resource[]
}

export type Severity = 'Error' | 'Warning'
export type FileType =
  | 'Course'
  | 'Enrolment'
  | 'CourseCompletion'
  | 'QualificationCompletion'
  | 'Learner'
  | 'Unknown'

/** A check. Its position in `checks` of its resource determines the order of findings. */
export interface Check {
  readonly code: string
  readonly kind: string
  readonly severity: Severity
  /** The fields concerned; a finding reports the first one and its value. */
  readonly fields: readonly string[]
  /** The template of the message; without one, the kind of check has default wording. */
  readonly message: string | undefined
  readonly why: string | undefined
  readonly fix: string | undefined
  readonly source: string | undefined
  /** The publisher's number of the check. */
  readonly replaces: string | undefined
  readonly basis: 'stated' | 'inferred' | 'own' | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly status: 'active' | 'draft' | 'retired'
}

export interface Resource {
  readonly name: string
  /** Name of the table in SQL. */
  readonly table: string
  readonly path: string
  readonly title: string
  readonly prefix: string
  readonly fileType: FileType
  /** The positions of the fields that identify a record in findings. */
  readonly record: { readonly localId?: number; readonly courseCode?: number; readonly studentId?: number }
  readonly fileNames: readonly string[]
  readonly optional: boolean
  readonly unknownColumns: boolean
  readonly missingColumns: boolean
  readonly fields: readonly Field[]
  readonly fileCheck: Check
  readonly headerCheck: Check
  readonly recordCheck: Check
  /** The primary key, if `hasPrimaryKey`, then the unique keys. */
  readonly keys: readonly Key[]
  readonly hasPrimaryKey: boolean
  readonly foreignKeys: readonly ForeignKey[]
  readonly recordChecks: readonly RecordCheck[]
  readonly rules: readonly SqlRule[]
  /** All checks of the resource, in the order of findings. */
  readonly checks: readonly Check[]
}

export type FieldType =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'time'
  | 'year'
  | 'yearmonth'
  | 'list'
  | 'any'

export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string | undefined
  readonly type: FieldType
  readonly format: string
  readonly delimiter: string
  readonly itemType: 'string' | 'integer'
  readonly trueValues: readonly string[]
  readonly falseValues: readonly string[]
  readonly missingValues: readonly string[]
  readonly keepSpaces: boolean
  /** Whether the column may be absent from the file. */
  readonly mayBeAbsent: boolean
  readonly required: boolean
  readonly requiredWhen: Condition | undefined
  readonly emptyWhen: Condition | undefined
  readonly limits: Limits
  readonly decimals: number | undefined
  readonly permitted: readonly PermittedValue[] | undefined
  readonly items: Limits & { readonly unique: boolean }
  /** The checks of this field by kind, such as `required`. */
  readonly checks: Readonly<Record<string, Check>>
}

export interface Limits {
  readonly minLength?: number
  readonly maxLength?: number
  /** As text: a number, or a date in ISO form. */
  readonly minimum?: string
  readonly maximum?: string
  readonly exclusiveMinimum?: string
  readonly exclusiveMaximum?: string
  readonly pattern?: string
}

export interface PermittedValue {
  readonly value: string
  readonly label: string | undefined
  readonly from: string | undefined
  readonly until: string | undefined
}

/** Alternatives, at least one of which must hold; an alternative holds if all its tests do. */
export type Condition = readonly (readonly FieldTest[])[]

export interface FieldTest {
  readonly field: number
  /** The values, one of which must be present, or whether there must be a value. */
  readonly is: readonly string[] | 'present' | 'absent'
}

export interface Key {
  readonly fields: readonly number[]
  readonly check: Check
}

export interface ForeignKey {
  readonly fields: readonly number[]
  readonly resource: string
  readonly references: readonly number[]
  readonly check: Check
  readonly matches: readonly Match[]
}

/** If the referenced record exists, `field` must equal its `reference`. */
export interface Match {
  readonly field: number
  readonly reference: number
  readonly check: Check
}

export type Operand = { readonly field: number } | { readonly parameter: ParameterName }
export type ParameterName = 'returnStart' | 'returnEnd' | 'returnYear' | 'asOf'

export type RecordCheck = { readonly check: Check; readonly when: Condition | undefined } & (
  | { readonly kind: 'order'; readonly operands: readonly Operand[]; readonly strict: boolean }
  | {
      readonly kind: 'sum'
      readonly total: number
      readonly parts: readonly number[]
      readonly tolerance: string
      readonly compare: '=' | '<='
    }
  | {
      readonly kind: 'spread'
      readonly total: number
      /** The twelve months of the return's year. */
      readonly parts: readonly number[]
      /** First and last day of the period. */
      readonly from: number
      readonly to: number
      readonly decimals: number
      /** Which months are checked: those of the period, or the others. */
      readonly months: 'within' | 'outside'
    }
  | {
      readonly kind: 'oneOf'
      readonly fields: readonly number[]
      readonly count: 'atLeast' | 'exactly' | 'atMost'
    }
  | { readonly kind: 'equal'; readonly operands: readonly Operand[]; readonly not: boolean }
  | {
      readonly kind: 'referenced'
      readonly fields: readonly number[]
      readonly by: readonly { readonly resource: string; readonly fields: readonly number[] }[]
    }
)

export interface SqlRule {
  readonly check: Check
  /** File name, for messages. */
  readonly file: string
  readonly sql: string
  readonly examples: readonly RuleExample[]
}

export interface RuleExample {
  readonly name: string
  /** Partial records by the name of their resource. */
  readonly records: Readonly<Record<string, readonly ExampleRecord[]>>
  /** Positions, from 1, of the records in the rule's file that it must find. */
  readonly finds: readonly number[]
  readonly returnId: string | undefined
  readonly asOf: string | undefined
}

/** The values of a record by field; a list may be given as an array. */
export type ExampleRecord = Readonly<Record<string, string | readonly string[]>>

/** All checks of a definition with their resources, in the order of findings. */
export function* listChecks(definition: Definition): Generator<{ resource: Resource; check: Check }> {
  for (const resource of definition.resources) {
    for (const check of resource.checks) yield { resource, check }
  }
}
