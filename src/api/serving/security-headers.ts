/**
 * Security headers of every response. Browsers must not guess its type, execute or frame it, or pass on its URL,
 * which may contain a token; other origins can read it only through CORS. The proxy is responsible for TLS, and
 * therefore for Strict-Transport-Security.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}
