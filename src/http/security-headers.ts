/**
 * What every answer tells browsers: it is what its type says, nothing in it is to be run or framed, its address (which
 * may hold a token) goes to nobody, and only pages that ask through CORS may have it. TLS, and so
 * Strict-Transport-Security, is the proxy's.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}
