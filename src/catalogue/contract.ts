import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { withScope } from '../api/contract/access-rules.ts'
import { notModified, page } from '../api/contract/results.ts'
import { callerOf } from '../api/request/caller.ts'
import { digestQuery } from '../api/serving/page.ts'
import { whenKnown } from '../foundation/cache/maybe-promise.ts'
import { remember } from '../foundation/cache/remember.ts'
import type { Reader } from '../foundation/database/database.ts'
import type { Catalogue, CatalogueDocument, DocumentName } from './records/catalogue.ts'
import { MAX_CODE_LENGTH } from './records/schema.ts'

/** What all contracts of the catalogue have in common. */
export function ofCatalogue(anonymous: boolean) {
  return {
    tag: 'Occupations',
    access: withScope('occupations:read', { anonymous }),
    limit: 'occupations',
    caching: anonymous ? 'public, max-age=60, stale-while-revalidate=600' : 'private, no-cache',
  } as const
}

export const codeIn = (description: string) =>
  Type.Object({ code: Type.String({ description, maxLength: MAX_CODE_LENGTH }) })

/** Creates the names of documents of one kind, by code. */
export function namesOf(path: string): (code: string) => DocumentName {
  return remember((code) => {
    const key = `${path}/${code}`
    return { key, digest: digestQuery(key) }
  })
}

/** Responds with a document of the catalogue, or with 304 if that is known without a read. */
export function answerDocument(
  catalogue: Catalogue,
  name: DocumentName,
  { request, isFresh }: { request: FastifyRequest; isFresh(etag: string): boolean },
  read: (reader: Reader) => Promise<CatalogueDocument>,
  options: { readonly lasts?: boolean } = {},
) {
  const etag = catalogue.etag(name)
  // `*` matches any existing document, and only a read shows whether it exists.
  const known = etag !== undefined && request.headers['if-none-match']?.trim() !== '*'
  if (known && isFresh(etag)) return notModified(etag)
  return whenKnown(catalogue.document(name, callerOf(request), read, options), (found) =>
    page(found, () => catalogue.reweigh(name, found)),
  )
}
