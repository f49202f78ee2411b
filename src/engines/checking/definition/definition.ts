/** A loaded definition, complete and without faults. See docs/definitions.md. */
export interface Definition {
  readonly folder: string
  readonly name: string
  /** Empty if the definition has none. */
  readonly version: string
  readonly title: string
  /** A sentence that every report shows. */
  readonly notice: string | undefined
  readonly returns: { readonly default: string | undefined; readonly pattern: RegExp | undefined }
  readonly resources: readonly Resource[]
  /** What the definition describes and Mahi does not check, as full sentences. */
  readonly notes: readonly string[]
  /** The paths of such files. */
  readonly unchecked: readonly string[]
}

export const SEVERITIES = ['Error', 'Warning'] as const
export type Severity = (typeof SEVERITIES)[number]
export const FILE_TYPES = [
  'Course',
  'Enrolment',
  'CourseCompletion',
  'QualificationCompletion',
  'Learner',
  'Unknown',
] as const
export type FileType = (typeof FILE_TYPES)[number]

/** A check. Its position in `checks` of its resource determines the order of findings. */
export interface Check {
  readonly code: string
  readonly kind: string
  readonly severity: Severity
  /** The fields concerned; a finding reports the first one and its value. */
  readonly fields: readonly string[]
  /** The template of the message; without one, the kind of check has default wording. */
  readonly message: string | undefined
  /** The end of a sentence about several records, such as `enrolments end before they start.` */
  readonly many: string | undefined
  readonly why: string | undefined
  readonly fix: string | undefined
  readonly source: string | undefined
  /** The publisher's number of the check. */
  readonly replaces: string | undefined
  readonly basis: 'stated' | 'inferred' | 'own' | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly status: 'active' | 'draft' | 'retired'
  /** Whether a return with findings of this warning cannot be submitted until somebody explains them. */
  readonly needsExplanation: boolean
}

export interface Resource {
  readonly name: string
  /** Name of the table in SQL. */
  readonly table: string
  /** The path of the file within the checked folder. */
  readonly path: string
  readonly title: string
  readonly prefix: string
  readonly fileType: FileType
  /** The positions of the fields that identify a record in findings. */
  readonly record: { readonly localId?: number; readonly courseCode?: number; readonly studentId?: number }
  readonly fileNames: readonly string[]
  /** Whether the file may be absent, or the IDs of the returns from which it may. */
  readonly optional: boolean | RegExp
  readonly unknownColumns: boolean
  readonly missingColumns: boolean
  /** Whether the columns must be in the order of the fields. */
  readonly orderedColumns: boolean
  readonly dialect: Dialect
  /** A name that `TextDecoder` knows; detected if `undefined`. */
  readonly encoding: string | undefined
  /** What the descriptor says about the bytes of the file. */
  readonly bytes: number | undefined
  readonly hash: { readonly algorithm: string; readonly digest: string } | undefined
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

/** How a file of text is divided into records and values, as far as its definition says so. */
export interface Dialect {
  /** Detected if `undefined`. */
  readonly delimiter: string | undefined
  /** The lines of the header, from 1; none for a file without a header. */
  readonly headerRows: readonly number[]
  readonly headerJoin: string
  readonly commentRows: readonly number[]
  readonly commentChar: string | undefined
  /** Detected if `undefined`. */
  readonly lineTerminator: string | undefined
  /** Empty if quotes are text. */
  readonly quoteChar: string | undefined
  readonly doubleQuote: boolean
  readonly escapeChar: string | undefined
  readonly skipInitialSpace: boolean
}

export const FIELD_TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'time',
  'year',
  'yearmonth',
  'duration',
  'geopoint',
  'geojson',
  'object',
  'array',
  'list',
  'any',
] as const
export type FieldType = (typeof FIELD_TYPES)[number]

export const ITEM_TYPES = ['string', 'integer', 'number', 'boolean', 'date', 'time', 'datetime'] as const

export interface Field {
  readonly name: string
  /** Name of the column in SQL: that of the field, if it consists of letters, digits and _. */
  readonly column: string
  readonly title: string
  readonly description: string | undefined
  readonly example: string | undefined
  /** Other names that people give the column. */
  readonly synonyms: readonly string[]
  readonly type: FieldType
  readonly format: string
  readonly delimiter: string
  readonly itemType: (typeof ITEM_TYPES)[number]
  readonly decimalChar: string
  readonly groupChar: string | undefined
  /** Whether nothing may surround a number, such as a currency or `%`. */
  readonly bareNumber: boolean
  readonly trueValues: readonly string[]
  readonly falseValues: readonly string[]
  /** The texts that stand for no value; without an empty one among them, an empty cell is a value. */
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
  /** As the plain text of a value, see `ValueReader`. */
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
interface Match {
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
  /** The files without whose records it may find more. */
  readonly relates: readonly Relation[]
  readonly examples: readonly RuleExample[]
}

/** By which fields a rule relates the records of its file to those of a file, maybe the same one. */
export interface Relation {
  readonly resource: string
  /** Equal fields. If the first one is unknown, two others must agree. */
  readonly pairs: readonly { readonly own: number; readonly other: number }[]
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
type ExampleRecord = Readonly<Record<string, string | readonly string[]>>

/** All checks of a definition with their resources, in the order of findings. */
export function* listChecks(definition: Definition): Generator<{ resource: Resource; check: Check }> {
  for (const resource of definition.resources) {
    for (const check of resource.checks) yield { resource, check }
  }
}
