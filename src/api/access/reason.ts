/** Why a remote service did not respond, in a few words for the log, such as `fetch failed: ECONNREFUSED`. */
export function describeReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A connection attempt to several addresses fails with an empty message and a code.
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const cause = error.cause instanceof Error ? `: ${describeReason(error.cause)}` : ''
  return `${error.message || code}${cause}`
}
