import { plainName } from '../engine/columns.ts'
import type { Column } from './column.ts'
import type { ReadColumns } from './read-columns.ts'

/** A field of the proposal, as in a Table Schema. */
export interface ProposedField {
  readonly name: string
  readonly type: string
  readonly format?: string
  readonly decimalChar?: string
  constraints?: { required?: true; unique?: true; enum?: readonly string[] }
}

interface ProposedReference {
  readonly fields: string
  readonly reference: { readonly resource: string; readonly fields: string }
}

/** A file of the proposal, as in a Data Package. */
export interface ProposedResource {
  readonly name: string
  readonly path: string
  readonly dialect?: { readonly delimiter?: string; readonly headerRows?: readonly number[] }
  readonly schema: {
    readonly fields: readonly ProposedField[]
    primaryKey?: string
    foreignKeys?: ProposedReference[]
  }
}

/** A file with its name, and what its columns seem to hold. */
export interface NamedFile extends ReadColumns {
  readonly name: string
  readonly path: string
}

/** Describes files: what all their values have in common is proposed as a rule. */
export function describeFiles(files: readonly NamedFile[]): ProposedResource[] {
  const resources = files.map((file): ProposedResource => {
    const { name, path, separator = ',', columns, headerRow } = file
    const key = chooseKey(columns)
    const dialect = {
      ...(separator !== ',' && { delimiter: separator }),
      ...(headerRow > 1 && { headerRows: [headerRow] }),
    }
    return {
      name,
      path,
      ...(Object.keys(dialect).length > 0 && { dialect }),
      schema: {
        fields: columns.map((column) => describeColumn(column, column === key)),
        ...(key !== undefined && { primaryKey: key.name }),
      },
    }
  })
  for (const [index, { schema }] of resources.entries()) {
    const references = (files[index]?.columns ?? []).flatMap((column): ProposedReference[] => {
      const target = findTarget(column, files)
      const other = resources.find(({ name }) => name === target?.file)
      const field = other?.schema.fields.find(({ name }) => name === target?.column.name)
      if (other === undefined || field === undefined) return []
      // What is referred to has no repeated values.
      if (other.schema.primaryKey !== field.name) field.constraints = { ...field.constraints, unique: true }
      return [{ fields: column.name, reference: { resource: other.name, fields: field.name } }]
    })
    if (references.length > 0) schema.foreignKeys = references
  }
  return resources
}

/** Words with which the name of a key often ends. */
const IDENTIFIER = /(?:id|code|key|number|identifier)$/i

/** The column that probably identifies a record: the first one, or one that is named like a key. */
function chooseKey(columns: readonly Column[]): Column | undefined {
  const unique = columns.filter(
    ({ isUnique, isComplete, form }) => isUnique && isComplete && ['string', 'integer'].includes(form.type),
  )
  return unique.find((column) => column === columns[0]) ?? unique.find(({ name }) => IDENTIFIER.test(name))
}

/** The column of another file to which a column with repeated values seems to refer: of the same name and form. */
function findTarget(
  column: Column,
  files: readonly NamedFile[],
): { file: string; column: Column } | undefined {
  if (column.filled === 0 || column.isUnique || !IDENTIFIER.test(column.name)) return undefined
  for (const { name, columns } of files) {
    const target = columns.find(
      (each) =>
        each.isComplete &&
        each.isUnique &&
        plainName(each.name) === plainName(column.name) &&
        each.form.type === column.form.type &&
        column.sample.every((value) => each.has(value)),
    )
    if (target !== undefined) return { file: name, column: target }
  }
  return undefined
}

function describeColumn(column: Column, isKey: boolean): ProposedField {
  const { form, permitted } = column
  const constraints = {
    ...(column.isComplete && !isKey && { required: true as const }),
    ...(column.isNotable && !isKey && form.type === 'string' && { unique: true as const }),
    ...(permitted !== undefined && { enum: permitted }),
  }
  return {
    name: column.name,
    ...form,
    ...(Object.keys(constraints).length > 0 && { constraints }),
  }
}
