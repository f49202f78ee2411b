/** The start of a value that a message repeats: enough to recognise it, never a flood. */
export function quote(value: string, length = 60): string {
  return JSON.stringify(value.length > length ? `${value.slice(0, length)}…` : value)
}
