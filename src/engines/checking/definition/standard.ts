import { distance } from 'fastest-levenshtein'
import { didYouMean } from '../../../foundation/text/suggest.ts'

/** The objects of a descriptor, by the name that a message gives them. */
export type StandardObject =
  | 'package'
  | 'resource'
  | 'schema'
  | 'field'
  | 'constraints'
  | 'foreignKey'
  | 'reference'
  | 'dialect'

/** The properties of Data Package 2.0 and 1.0, and those of the drafts before it that describe and check nothing. */
export const STANDARD: Readonly<Record<StandardObject, readonly string[]>> = {
  package: [
    ...[
      '$schema',
      'profile',
      'name',
      'id',
      'title',
      'description',
      'homepage',
      'image',
      'version',
      'created',
    ],
    ...['keywords', 'contributors', 'sources', 'licenses', 'resources'],
    ...['license', 'source', 'author', 'maintainers', 'publisher', 'publishers', 'language', 'languages'],
  ],
  resource: [
    ...['$schema', 'profile', 'name', 'path', 'data', 'type', 'title', 'description', 'homepage', 'format'],
    ...['mediatype', 'encoding', 'bytes', 'hash', 'sources', 'licenses', 'dialect', 'schema', 'jsonSchema'],
    ...['url', 'license', 'source', 'compression'],
  ],
  schema: [
    ...['$schema', 'profile', 'name', 'title', 'description', 'homepage', 'version', 'created', 'keywords'],
    ...['contributors', 'sources', 'image', 'examples', 'fields', 'fieldsMatch', 'primaryKey', 'uniqueKeys'],
    ...['foreignKeys', 'missingValues'],
  ],
  field: [
    ...['name', 'type', 'format', 'title', 'description', 'example', 'examples', 'constraints', 'rdfType'],
    ...['categories', 'categoriesOrdered', 'missingValues', 'decimalChar', 'groupChar', 'bareNumber'],
    ...['trueValues', 'falseValues', 'delimiter', 'itemType', 'currency', 'unit', 'units', 'label'],
  ],
  constraints: [
    ...['required', 'unique', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'],
    ...['exclusiveMaximum', 'pattern', 'enum', 'jsonSchema'],
  ],
  foreignKey: ['fields', 'reference'],
  reference: ['resource', 'fields'],
  dialect: [
    ...['$schema', 'header', 'headerRows', 'headerJoin', 'commentRows', 'commentChar', 'delimiter'],
    ...['lineTerminator', 'quoteChar', 'doubleQuote', 'escapeChar', 'nullSequence', 'skipInitialSpace'],
    ...['property', 'itemType', 'itemKeys', 'sheetNumber', 'sheetName', 'table', 'csvddfVersion'],
    ...['caseSensitiveHeader'],
  ],
}

/** The objects in which the properties of another one are often written by mistake. */
const CONFUSED: Readonly<Partial<Record<StandardObject, readonly StandardObject[]>>> = {
  package: ['resource', 'schema'],
  resource: ['schema', 'dialect', 'package'],
  schema: ['field', 'resource'],
  field: ['constraints', 'schema'],
  constraints: ['field'],
  foreignKey: ['reference'],
  dialect: ['field'],
}

/** What describes a package or a resource and checks nothing; a key of a resource is one of its schema in older drafts. */
const DESCRIPTIVE: Readonly<Partial<Record<StandardObject, readonly string[]>>> = {
  package: [
    ...['title', 'description', 'homepage', 'image', 'created', 'keywords', 'contributors', 'sources'],
    ...['licenses', 'license', 'source', 'author', 'maintainers', 'publisher', 'publishers', 'language'],
    ...['languages', 'format', 'mediatype', 'bytes', 'hash', 'url'],
  ],
  resource: [
    ...['title', 'description', 'homepage', 'sources', 'licenses', 'license', 'source', 'mediatype', 'url'],
    ...['created', 'keywords', 'contributors', 'image', 'version', 'primaryKey'],
  ],
}

/** A name that is most probably a mistake. */
interface Misnamed {
  /** What is wrong, as the end of a sentence. */
  readonly message: string
  /** Whether the check is the same without it, so that it is no reason to refuse what somebody has published. */
  readonly isHarmless: boolean
}

/**
 * Finds out whether a name that the standard does not have in this object is most probably a mistake. The standard
 * permits other properties, so that only what resembles one of its own is a fault.
 */
export function findMisnamed(name: string, object: StandardObject): Misnamed | undefined {
  const own = STANDARD[object]
  if (own.includes(name)) return undefined
  const describes = (meant: string) => DESCRIPTIVE[object]?.includes(meant) === true
  const place = CONFUSED[object]?.find((other) => STANDARD[other].includes(name))
  if (place !== undefined) {
    const message = `belongs in ${PLACES[place]}, and has no meaning here`
    return { message, isHarmless: describes(name) }
  }
  const lower = name.toLowerCase()
  const near = own.find((each) => distance(lower, each.toLowerCase()) <= nearTo(each))
  if (near === undefined) return undefined
  const message = `is not a property of the standard${didYouMean(near)}`
  return { message, isHarmless: describes(near) }
}

/** How many letters of a name may be wrong: `related` is not meant to be `created`. */
function nearTo({ length }: string): number {
  return length < 8 ? 1 : 2
}

const PLACES: Readonly<Record<StandardObject, string>> = {
  package: 'the package',
  resource: 'a resource',
  schema: 'schema',
  field: 'a field',
  constraints: 'constraints',
  foreignKey: 'a foreign key',
  reference: 'reference',
  dialect: 'dialect',
}
