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

/** Names that spaces separate. */
const list = (names: string) => names.trim().split(/\s+/)

/** The properties of Data Package 2.0 and 1.0, and those of the drafts before it that describe and check nothing. */
export const STANDARD: Readonly<Record<StandardObject, readonly string[]>> = {
  package: list(`
    $schema profile name id title description homepage image version created keywords contributors sources
    licenses resources license source author maintainers publisher publishers language languages`),
  resource: list(`
    $schema profile name path data type title description homepage format mediatype encoding bytes hash
    sources licenses dialect schema jsonSchema url license source compression`),
  schema: list(`
    $schema profile name title description homepage version created keywords contributors sources image
    examples fields fieldsMatch primaryKey uniqueKeys foreignKeys missingValues`),
  field: list(`
    name type format title description example examples constraints rdfType categories categoriesOrdered
    missingValues decimalChar groupChar bareNumber trueValues falseValues delimiter itemType currency unit
    units label`),
  constraints: list(`
    required unique minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum pattern enum
    jsonSchema`),
  foreignKey: list('fields reference'),
  reference: list('resource fields'),
  dialect: list(`
    $schema header headerRows headerJoin commentRows commentChar delimiter lineTerminator quoteChar doubleQuote
    escapeChar nullSequence skipInitialSpace property itemType itemKeys sheetNumber sheetName table
    csvddfVersion caseSensitiveHeader`),
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

/** What describes and changes no check, wherever it is. */
const DESCRIPTIVE = new Set(
  list(`
    $schema profile id title description homepage image version created keywords contributors sources source
    licenses license author authors maintainers publisher publishers language languages url mediatype
    example examples rdfType currency unit units label compression csvddfVersion caseSensitiveHeader
    categoriesOrdered`),
)

/** What other implementations refuse out of its place. By the standard, it changes no check there. */
const REFUSED_ELSEWHERE = new Set(list('required missingValues fields'))

/** What programs such as Frictionless write besides the standard, and what changes no check. */
const OF_PROGRAMS: Readonly<Partial<Record<StandardObject, readonly string[]>>> = {
  resource: list(`
    scheme hashing stats innerpath extrapaths control datatype rows detector checklist pipeline layout`),
  schema: list('custom_checks'),
  dialect: list('type name path csv excel ods json sql headerCase skipBlankRows'),
}

/** Whether a property that is not the standard's is known to change no check. */
export function isDescriptive(name: string, object: StandardObject): boolean {
  return DESCRIPTIVE.has(name) || OF_PROGRAMS[object]?.includes(name) === true
}

/** A name that is most probably a mistake. */
interface Misnamed {
  /** What is wrong, as the end of a sentence. */
  readonly message: string
  /** Whether the check is the same without it: then it is no reason to refuse what somebody has published. */
  readonly isHarmless: boolean
}

/**
 * Finds out whether a name that the standard does not have in this object is most probably a mistake. The standard
 * permits other properties, so that only what resembles one of its own is a fault.
 */
export function findMisnamed(name: string, object: StandardObject): Misnamed | undefined {
  const own = STANDARD[object]
  if (own.includes(name) || OF_PROGRAMS[object]?.includes(name) === true) return undefined
  const place = CONFUSED[object]?.find((other) => STANDARD[other].includes(name))
  if (place !== undefined) {
    const message = `belongs in ${PLACES[place]}, and has no meaning here`
    return { message, isHarmless: !REFUSED_ELSEWHERE.has(name) }
  }
  if (DESCRIPTIVE.has(name)) return undefined
  const lower = name.toLowerCase()
  const near = own.find((each) => distance(lower, each.toLowerCase()) <= nearTo(each))
  if (near === undefined) return undefined
  const message = `is not a property of the standard${didYouMean(near)}`
  return { message, isHarmless: DESCRIPTIVE.has(near) }
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
