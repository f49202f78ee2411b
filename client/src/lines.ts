import { MahiError } from './errors.ts'
import { readObject } from './request.ts'

/** The longest line that is read, in characters: several times the longest record. */
const LONGEST_LINE = 8 * 1024 * 1024

/** A count in a header. */
export function readCount(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/**
 * The lines of a streamed response, as many as it announces.
 *
 * @param what the response, for errors
 * @param signal ends the reading with its reason
 */
export async function* readLines(
  body: ReadableStream<Uint8Array> | null,
  totalCount: number,
  what: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const reader = body?.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: true })
    } catch (cause) {
      throw new MahiError('unreadable', { title: `The ${what} is not valid UTF-8` }, cause)
    }
  }
  let rest = ''
  let count = 0
  try {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
      if (done || value === undefined) break
      const lines = (rest + decode(value)).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LONGEST_LINE)
        throw new MahiError('unreadable', { title: `The last line of the ${what} is incomplete` })
      for (const line of lines) {
        if (++count > totalCount) break
        signal?.throwIfAborted()
        yield line
      }
      if (count > totalCount) break
    }
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof MahiError) throw cause
    throw new MahiError('network', { title: `The ${what} was interrupted` }, cause)
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
  if (count !== totalCount || rest !== '') {
    throw new MahiError('unreadable', {
      title: `The ${what} does not have the ${totalCount} lines that it announces`,
    })
  }
}

/** As `readLines`, for lines that each hold an object. */
export async function* readObjects<Item extends object>(
  body: ReadableStream<Uint8Array> | null,
  totalCount: number,
  what: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, void, undefined> {
  for await (const line of readLines(body, totalCount, what, signal)) {
    const value = readObject(line)
    if (value === undefined || Array.isArray(value))
      throw new MahiError('unreadable', { title: `A line of the ${what} is not an object` })
    yield value as Item
  }
}
