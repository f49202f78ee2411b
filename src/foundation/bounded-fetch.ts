/** As libraries give it: without a body, some set it to `undefined`. */
type BoundedRequest = Omit<RequestInit, 'body'> & {
  readonly body?: RequestInit['body'] | Uint8Array | undefined
}

/**
 * Creates a `fetch` that reads a whole response of at most so many bytes: an endless one would fill the memory.
 *
 * @param most bytes of a body
 * @throws {Error} from the function, if a body is longer
 */
export function createBoundedFetch(most: number) {
  return async (url: string, { body, ...options }: BoundedRequest = {}): Promise<Response> => {
    const response = await fetch(url, { ...options, body: (body ?? null) as BodyInit | null })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      // Leaving the loop cancels the rest of the response.
      if (bytes > most) throw new Error(`the response is larger than ${most} bytes`)
      chunks.push(chunk)
    }
    const { status, headers } = response
    return new Response(chunks.length === 0 ? null : Buffer.concat(chunks), { status, headers })
  }
}
