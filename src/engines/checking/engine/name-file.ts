/** A value of `--file`, as a shell needs it. */
export function nameFile(resource: string, name: string): string {
  return `${resource}=${/^[\w./-]+$/.test(name) ? name : `"${name}"`}`
}
