/** The values of NDJSON. */
export function parseLines<Value = Record<string, unknown>>(text: string): Value[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Value)
}
