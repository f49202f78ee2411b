type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
type JsonObject = { readonly [name: string]: Json }

/**
 * Shapes the generated document for readers and code generators. Named schemas are described once and referenced
 * elsewhere, and all operations reference one description of the errors that any request can get.
 *
 * @param sharedErrors that description
 */
export function shapeDocument<Document extends object>(document: Document, sharedErrors: object): Document {
  const plain = JSON.parse(JSON.stringify(document)) as JsonObject
  const components = asObject(plain.components)
  const { schemas, nameSchema } = nameNested(asObject(components.schemas))
  const paths = mapEntries(asObject(plain.paths), (path) =>
    mapEntries(asObject(mapObjects(path, nameSchema)), addSharedErrors),
  )
  return {
    ...plain,
    components: { ...components, schemas, responses: { Error: sharedErrors } },
    paths,
  } as unknown as Document
}

/** Replaces nested named schemas by references; returns a function that does so elsewhere. */
function nameNested(named: JsonObject) {
  const references = new Map<string, JsonObject>()
  const nameSchema = (node: JsonObject) => references.get(JSON.stringify(node)) ?? node
  // Sorted by length, because a schema is shorter than every schema that contains it.
  const byLength = Object.entries(named).sort(
    ([, one], [, other]) => JSON.stringify(one).length - JSON.stringify(other).length,
  )
  const schemas: Record<string, Json> = { ...named }
  for (const [name, schema] of byLength) {
    const shaped = mapEntries(asObject(schema), (part) => mapObjects(part, nameSchema))
    schemas[name] = shaped
    references.set(JSON.stringify(shaped), { $ref: `#/components/schemas/${name}` })
  }
  return { schemas, nameSchema }
}

function addSharedErrors(operation: Json): Json {
  const { responses, ...rest } = asObject(operation)
  if (responses === undefined) return operation
  return { ...rest, responses: { ...asObject(responses), default: { $ref: '#/components/responses/Error' } } }
}

/** Applies `change` to every object in a value, innermost first. */
function mapObjects(value: Json, change: (node: JsonObject) => JsonObject): Json {
  if (Array.isArray(value)) return value.map((item: Json) => mapObjects(item, change))
  if (value === null || typeof value !== 'object') return value
  return change(mapEntries(value as JsonObject, (part) => mapObjects(part, change)))
}

function mapEntries(node: JsonObject, change: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, change(value)]))
}

function asObject(value: Json | undefined): JsonObject {
  return value === null || typeof value !== 'object' || Array.isArray(value) ? {} : (value as JsonObject)
}
