/**
 * Whether tests can run that need another program. Without it, one line says what is not tested; with CI=true, its
 * absence is a failure.
 * @param subject what is not tested without it, such as `the tests in a browser`
 * @param missing what is missing, such as `no Chromium`
 */
export function requireProgram(found: boolean, subject: string, missing: string): boolean {
  if (found) return true
  if (process.env.CI === 'true') throw new Error(`${subject}: ${missing}. With CI=true it is required.`)
  process.stderr.write(`SKIPPED: ${subject}: ${missing}\n`)
  return false
}
