/**
 * Instructions to browsers with every response: do not guess its type, do not execute or frame it, do not pass on its
 * URL (which may contain a token), and let other origins read it only through CORS. TLS, and therefore
 * Strict-Transport-Security, is the responsibility of the proxy.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}
