import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Definition, findDescriptor, type Resource } from '../../engines/checking/index.ts'

interface RawField {
  readonly name?: string
}

interface RawResource {
  readonly name?: string
  readonly schema?: { readonly fields?: readonly RawField[]; readonly missingValues?: unknown }
}

export interface Merged {
  readonly path: string
  readonly resource: Resource
  /** The column of the organisation, then those of the file. */
  readonly columns: readonly string[]
  /** The columns that each organisation submitted, by EID. */
  readonly submitted: ReadonlyMap<string, readonly string[]>
}

/**
 * A Data Package of the merged files, with the types and keys of the definition. A key includes the organisation. Its
 * other checks were made for each organisation; they are not repeated here, because they compare records of one
 * organisation only.
 */
export function describePackage(returnId: string, definition: Definition, files: readonly Merged[]): object {
  const descriptor = join(definition.folder, findDescriptor(definition.folder) ?? 'datapackage.json')
  const raw = parse(readFileSync(descriptor, 'utf8')) as { resources?: readonly RawResource[] }
  return {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: `return-${returnId.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-')}`,
    title: `Return ${returnId}: ${definition.title}`,
    resources: files.map((file) => {
      const { path, resource, columns } = file
      const { schema } = raw.resources?.find(({ name }) => name === resource.name) ?? {}
      const [organisation = 'EID', ...others] = columns
      return {
        name: resource.name,
        title: resource.title,
        path,
        type: 'table',
        schema: {
          fields: [
            { name: organisation, type: 'string', title: 'Organisation', constraints: { required: true } },
            ...others.map((name) =>
              describeField(
                name,
                schema?.fields?.find((field) => field.name === name),
              ),
            ),
          ],
          ...describePrimaryKey(file),
          ...describeForeignKeys(file, files),
          ...(schema?.missingValues !== undefined && { missingValues: schema.missingValues }),
        },
      }
    }),
  }
}

function describePrimaryKey(file: Merged): { primaryKey?: string[] } {
  const { resource, columns, submitted } = file
  const [key] = resource.keys
  if (!resource.hasPrimaryKey || key === undefined || !isUpheld(key.check)) return {}
  const names = nameFields(resource, key.fields)
  if (![...submitted.values()].every((own) => names.every((name) => own.includes(name)))) return {}
  return { primaryKey: [columns[0] ?? 'EID', ...names] }
}

/** The references that can be followed for every organisation: one may have left out a file or a column. */
function describeForeignKeys(file: Merged, files: readonly Merged[]): { foreignKeys?: object[] } {
  const foreignKeys = file.resource.foreignKeys.flatMap(({ fields, resource, references, check }) => {
    const other = files.find((each) => each.resource.name === resource)
    if (other === undefined || !isUpheld(check)) return []
    const names = nameFields(file.resource, fields)
    const referenced = nameFields(other.resource, references)
    const isComplete = [...file.submitted.keys()].every((eid) =>
      referenced.every((name) => other.submitted.get(eid)?.includes(name) === true),
    )
    if (!isComplete || !names.every((name) => file.columns.includes(name))) return []
    return {
      fields: [file.columns[0], ...names],
      // A reference to the file itself has an empty name in the standard.
      reference: { resource: other === file ? '' : resource, fields: [other.columns[0], ...referenced] },
    }
  })
  return foreignKeys.length === 0 ? {} : { foreignKeys }
}

/** Whether all files that can be submitted pass the check: a warning or a draft does not prevent it. */
function isUpheld({ status, severity, since, until }: Resource['checks'][number]): boolean {
  return status === 'active' && severity === 'Error' && since === undefined && until === undefined
}

function nameFields({ fields }: Resource, positions: readonly number[]): string[] {
  return positions.map((position) => fields[position]?.name ?? '')
}

/** A field without what only the definition knows: its checks and constraints. */
function describeField(name: string, field: RawField | undefined): object {
  if (field === undefined) return { name, type: 'string' }
  return Object.fromEntries(
    Object.entries(field).filter(([property]) => property !== 'constraints' && !property.startsWith('mahi:')),
  )
}
