import type { Page } from '../serving/page.ts'

type Headers = Readonly<Record<string, string>>

/** A JSON object with its status. */
export interface DocumentResult<Status extends number = number, Body = unknown> {
  readonly kind: 'document'
  readonly status: Status
  readonly body: Body
  readonly headers: Headers
}

/** The result of an operation. The functions below create the variants. */
export type Result =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'not-modified'; readonly etag: string }
  | DocumentResult
  | {
      readonly kind: 'stream'
      readonly type: string
      readonly body: AsyncIterable<Buffer | string>
      readonly headers: Headers
      /** Whether it is compressed for a caller who accepts that. */
      readonly compressible: boolean
    }

/** A result that is no document. */
export type BytesResult = Exclude<Result, DocumentResult>

/** A page: compressed if the caller accepts that, with its ETag, or as 304. */
export const page = (page: Page): BytesResult => ({ kind: 'page', page })

/** 304: the caller already has the version with this ETag. */
export const notModified = (etag: string): BytesResult => ({ kind: 'not-modified', etag })

/** 200 with a small JSON object. */
export const document = <Body>(body: Body, headers: Headers = {}): DocumentResult<200, Body> => ({
  kind: 'document',
  status: 200,
  body,
  headers,
})

/** 201 with the new resource and its location. */
export const created = <Body>(
  location: string,
  body: Body,
  headers: Headers = {},
): DocumentResult<201, Body> => ({
  kind: 'document',
  status: 201,
  body,
  headers: { location, ...headers },
})

/**
 * 202 with the state of the work and the URL to poll.
 *
 * @param retryAfter whole seconds
 */
export const accepted = <Body>(
  location: string,
  retryAfter: number,
  body: Body,
  headers: Headers = {},
): DocumentResult<202, Body> => ({
  kind: 'document',
  status: 202,
  body,
  headers: { location, 'retry-after': String(retryAfter), ...headers },
})

/**
 * The rest of a generator whose first value has been taken, so that what cannot be sent is refused before the response
 * begins. It ends even if nobody reads it.
 */
export function continueAfter<Chunk>(
  first: IteratorResult<Chunk, void>,
  rest: AsyncGenerator<Chunk, void>,
): AsyncIterable<Chunk> {
  let taken: IteratorResult<Chunk, void> | undefined = first
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const next = taken ?? (await rest.next())
        taken = undefined
        return next
      },
      return: () => rest.return(),
    }),
  }
}

/**
 * 200 with bytes generated while they are sent. An error aborts the connection, so that a partial response is never
 * mistaken for a complete one.
 */
export const stream = (
  type: string,
  body: AsyncIterable<Buffer | string>,
  headers: Headers = {},
  { compressible = false } = {},
): BytesResult => ({
  kind: 'stream',
  type,
  body,
  headers,
  compressible,
})
