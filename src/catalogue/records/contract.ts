import type { FastifyRequest } from 'fastify'
import { withScope } from '../../api/contract/access-rules.ts'
import { operationsOf } from '../../api/contract/contract.ts'
import { notModified, page } from '../../api/contract/results.ts'
import type { Page } from '../../api/serving/page.ts'
import { Type } from '../../foundation/schema/type.ts'
import type { Catalogue } from './catalogue.ts'
import { MAX_CODE_LENGTH } from './schema.ts'

/** Declares the operations that read the catalogue. */
export function readingOperations(anonymous: boolean) {
  return operationsOf({
    tag: 'Occupations',
    access: withScope('occupations:read', { anonymous }),
    limit: 'occupations',
    caching: anonymous ? 'public, max-age=60, stale-while-revalidate=600' : 'private, no-cache',
  })
}

/** `Cache-Control` of what changes with each revision. */
export const alwaysAsk = (anonymous: boolean) => (anonymous ? 'public, no-cache' : 'private, no-cache')

export const codeIn = (description: string) =>
  Type.Object({ code: Type.String({ description, maxLength: MAX_CODE_LENGTH }) })

export interface CodeInPath {
  readonly path: { readonly code: string }
}

/** What the functions below read from the input of an operation. */
interface Asked {
  readonly request: FastifyRequest
  isFresh(etag: string): boolean
}

/**
 * Creates the two functions of an operation whose result the catalogue keeps in memory: its handler, and what recalls
 * the result without a read, which is 304 or a page.
 *
 * @param nameOf names the result that is asked for
 * @param read reads it
 */
export function fromCatalogue<Input, Name extends { readonly key: string }>(
  catalogue: Catalogue,
  nameOf: (input: Input) => Name,
  read: (name: Name, input: Input) => Promise<Page>,
) {
  const find = ({ key }: Name, { request, isFresh }: Asked) => {
    const etag = catalogue.etag(key)
    // `*` matches any existing document, and only a read shows whether it exists.
    const isKnown = etag !== undefined && request.headers['if-none-match']?.trim() !== '*'
    if (isKnown && isFresh(etag)) return notModified(etag)
    const kept = catalogue.recall(key)
    return kept && page(kept)
  }
  const handle = async (input: Input & Asked) => {
    const name = nameOf(input)
    return find(name, input) ?? page(await read(name, input))
  }
  return [handle, (input: Input & Asked) => find(nameOf(input), input)] as const
}
