import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Definition, findDescriptor, type Resource } from '../../engines/checking/index.ts'

interface RawField {
  readonly name?: string
}

interface RawResource {
  readonly name?: string
  readonly schema?: {
    readonly fields?: readonly RawField[]
    readonly primaryKey?: string | readonly string[]
    readonly missingValues?: unknown
  }
}

interface Merged {
  readonly path: string
  readonly resource: Resource
  /** The column of the organisation, then those of the file. */
  readonly columns: readonly string[]
}

/**
 * A Data Package of the merged files, with the types of the definition. Its rules were checked for each organisation;
 * they are not repeated here, because they compare records of one organisation only.
 */
export function describePackage(returnId: string, definition: Definition, files: readonly Merged[]): object {
  const descriptor = join(definition.folder, findDescriptor(definition.folder) ?? 'datapackage.json')
  const raw = parse(readFileSync(descriptor, 'utf8')) as { resources?: readonly RawResource[] }
  return {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: `return-${returnId.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-')}`,
    title: `Return ${returnId}: ${definition.title}`,
    resources: files.map(({ path, resource, columns }) => {
      const { schema } = raw.resources?.find(({ name }) => name === resource.name) ?? {}
      const [organisation = 'EID', ...others] = columns
      const key = [schema?.primaryKey ?? []].flat()
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
          ...(key.length > 0 &&
            key.every((name) => others.includes(name)) && { primaryKey: [organisation, ...key] }),
          ...(schema?.missingValues !== undefined && { missingValues: schema.missingValues }),
        },
      }
    }),
  }
}

/** A field without what only the definition knows: its checks and constraints. */
function describeField(name: string, field: RawField | undefined): object {
  if (field === undefined) return { name, type: 'string' }
  return Object.fromEntries(
    Object.entries(field).filter(([property]) => property !== 'constraints' && !property.startsWith('mahi:')),
  )
}
