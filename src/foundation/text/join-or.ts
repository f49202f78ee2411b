/** The allowed values as a sentence names them: `A, B or C`. */
export function joinOr(values: readonly string[]): string {
  return values.length < 2 ? values.join() : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
}
