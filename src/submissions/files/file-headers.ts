import { Problem } from '../../api/request/problems.ts'

/**
 * Reads the SHA-256 of `Content-Digest` (RFC 9530), a list such as `sha-256=:<base64>:`. Other algorithms are
 * ignored.
 *
 * @throws {Problem} if it contains no supported digest
 */
export function readDigest(header: string | undefined): Buffer | undefined {
  if (header === undefined) return undefined
  for (const member of header.split(',')) {
    const encoded = /^\s*sha-256\s*=\s*:([A-Za-z0-9+/=]+):/.exec(member)?.[1]
    if (encoded === undefined) continue
    const digest = Buffer.from(encoded, 'base64')
    if (digest.length === 32) return digest
  }
  throw new Problem('invalid-parameters', 'Content-Digest must contain a digest such as "sha-256=:BASE64:".')
}

/** Whether a list of ETags has the one of a resource; `*` has that of any that exists. */
export function hasEtag(etags: readonly string[] | undefined, etag: string | undefined): boolean {
  return etag !== undefined && etags !== undefined && (etags.includes('*') || etags.includes(etag))
}

/** The ETags of `If-Match` or `If-None-Match`; `*` matches any. */
export function readEtags(header: string | undefined): readonly string[] | undefined {
  return header?.split(',').map((each) => each.trim())
}
