/** A field that differs; `undefined` on the side where it is absent. */
export interface FieldDifference {
  /** The path of the field, such as `renumeration.payLowerBound`. */
  readonly field: string
  readonly before?: unknown
  readonly after?: unknown
}

/** The fields that differ between two versions of a record. Lists are compared as a whole. */
export function compareFields(before: string, after: string): FieldDifference[] {
  return compare(JSON.parse(before), JSON.parse(after), '')
}

function compare(before: unknown, after: unknown, field: string): FieldDifference[] {
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) =>
      compare(before[name], after[name], field === '' ? name : `${field}.${name}`),
    )
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ field, before, after }]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
