/**
 * Converts the SQL of a dump so that it creates and fills its tables in another schema. Only statements change; the
 * rows between `COPY … FROM stdin;` and `\.` are passed on as they are.
 *
 * @param from the schema in the dump
 */
export function moveDump(from: string, to: string) {
  const name = from.replaceAll(/[^\w]/g, '\\$&')
  // pg_dump qualifies every name, and quotes only names that need it.
  const qualified = new RegExp(`(?<![\\w$"])(?:"${name}"|${name})\\.`, 'g')
  const convert = (line: string) => line.replaceAll(qualified, `"${to}".`)
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | string> {
    let rest: Buffer = Buffer.alloc(0)
    let inRows = false
    for await (const chunk of chunks) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      for (;;) {
        if (inRows) {
          const end = rest.indexOf(END)
          if (end === -1) break
          yield rest.subarray(0, end + END.length)
          rest = rest.subarray(end + END.length)
          inRows = false
        } else {
          const end = rest.indexOf('\n')
          if (end === -1) break
          const line = rest.toString('utf8', 0, end)
          inRows = /^COPY .* FROM stdin;$/.test(line)
          // The line break stays, so that the end of a table without rows is found as well.
          yield inRows ? convert(line) : `${convert(line)}\n`
          rest = rest.subarray(inRows ? end : end + 1)
        }
      }
      if (!inRows || rest.length < END.length) continue
      yield rest.subarray(0, rest.length - END.length + 1)
      rest = rest.subarray(rest.length - END.length + 1)
    }
    yield rest
  }
}

/** The line that ends the rows of a table, after that of the last row. */
const END = '\n\\.\n'
