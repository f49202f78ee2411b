import type { Mutation } from './mutation.ts'

const CREDENTIALS = 'test/access.credentials.test.ts'
const REFUSALS = 'test/results.refusals.test.ts'
const KEYS = 'test/access.keys.test.ts'
const ENDED = 'test/access.ended.test.ts'
const JWT = 'test/access.jwt.test.ts'
const LIMITS = 'test/access.limits.test.ts'
const VERSIONS = 'test/http.versions.test.ts'
const METHODS = 'test/http.methods.test.ts'
const PROBLEMS = 'test/http.problems.test.ts'
const CORS = 'test/http.cors.test.ts'
const LOGS = 'test/http.logs.test.ts'
const BODIES = 'test/http.bodies.test.ts'

export default [
  // Refusals
  {
    fault: 'an expired key gets another detail than an unknown one',
    file: 'src/api/access/admit.ts',
    text: '    return undefined\n  }\n  if (isGuess) await forgive',
    replacement:
      "    if (reason === 'expired') throw Object.assign(unauthorized(), { detail: 'This key has expired.' })\n    return undefined\n  }\n  if (isGuess) await forgive",
    test: CREDENTIALS,
  },
  {
    fault: 'a submission is found by its token, whoever owns it',
    file: 'src/submissions/submission/submission.ts',
    text: "where s.token = $1 and s.eid || '' = $2`",
    replacement: "where s.token = $1 and $2 <> ''`",
    test: 'test/access.submissions.test.ts',
  },
  {
    fault: 'the scope is checked before the rate limit',
    file: 'src/api/access/admit.ts',
    text: '    await countRequest(access, request, limit, ofOrganisation)\n    const { principal } = request\n',
    replacement:
      '    const { principal } = request\n    if (principal === undefined || scope === undefined || principal.scopes.has(scope))\n      await countRequest(access, request, limit, ofOrganisation)\n',
    test: CREDENTIALS,
  },
  {
    fault: 'the organisation of the header is not compared with those of the credential',
    file: 'src/api/contract/access-rules.ts',
    text: "const covered = typeof eid === 'string' && principal?.eids.has(eid) === true",
    replacement: "const covered = typeof eid === 'string' && principal !== undefined",
    test: 'test/access.submissions.test.ts',
  },
  {
    fault: 'a wrong X-API-Key is made up for by a bearer token',
    file: 'src/api/access/credentials.ts',
    text: 'if (key !== undefined) return',
    replacement: 'if (key !== undefined && headers.authorization === undefined) return',
    test: CREDENTIALS,
  },
  {
    fault: 'a wrong credential is let in where the catalogue is public',
    file: 'src/api/access/admit.ts',
    text: 'if (request.principal === undefined) throw',
    replacement: 'if (request.principal === undefined && !anonymous) throw',
    test: CREDENTIALS,
  },
  {
    fault: 'a suspended organisation is still served',
    file: 'src/api/contract/access-rules.ts',
    text: 'const suspended = covered && isSuspended(eid)',
    replacement: 'const suspended = covered && isSuspended(eid) && false',
    test: 'test/access.suspension.test.ts',
  },
  {
    fault: 'a flood of refusals is one line for each',
    file: 'src/api/access/audit.ts',
    text: 'if (count !== undefined) {\n      count.times++',
    replacement: 'if (count !== undefined && count.times < 0) {\n      count.times++',
    test: 'test/access.audit.test.ts',
  },
  {
    fault: 'an upload goes on after its key was revoked',
    file: 'src/api/contract/register.ts',
    text: '      assertAllowed()\n      yield piece\n',
    replacement: '      yield piece\n',
    test: ENDED,
  },
  {
    fault: 'a change is committed although its key has expired meanwhile',
    file: 'src/foundation/database/sqlite.ts',
    text: '        assertStillAllowed()\n',
    replacement: '',
    test: ENDED,
  },
  {
    fault: 'a download goes on after its organisation was suspended',
    file: 'src/api/access/long-responses.ts',
    text: '        response.destroy()\n',
    replacement: '',
    test: ENDED,
  },
  {
    fault: 'what a revoked key waits for is sent',
    file: 'src/api/contract/register.ts',
    text: "  if (method === 'GET') assertAllowed()\n",
    replacement: '',
    test: ENDED,
  },
  // Keys
  {
    fault: 'a key that has expired is accepted',
    file: 'src/api/access/access-state.ts',
    text: 'principal.expires <= Date.now() || !isClient',
    replacement: 'principal.expires <= 0 || !isClient',
    test: REFUSALS,
  },
  {
    fault: 'a cached key is accepted after it has expired',
    file: 'src/api/access/access-state.ts',
    text: 'principal.expires <= Date.now() || !isClient',
    replacement: 'principal.expires + 60_000 <= Date.now() || !isClient',
    test: KEYS,
  },
  {
    fault: 'a key is valid at the moment at which it expires',
    file: 'src/api/access/access-state.ts',
    text: 'principal.expires <= Date.now() || !isClient',
    replacement: 'principal.expires < Date.now() || !isClient',
    test: KEYS,
  },
  {
    fault: 'the key itself is stored, not its hash',
    file: 'src/api/access/keys.ts',
    text: '[id, client, hashCredential(key), JSON',
    replacement: '[id, client, key, JSON',
    test: KEYS,
  },
  {
    fault: 'a revoked key is accepted',
    file: 'src/api/access/access-state.ts',
    text: 'principal === undefined || revoked !== null',
    replacement: 'principal === undefined',
    test: KEYS,
  },
  {
    fault: 'a key is accepted whatever the client that the caller names',
    file: 'src/api/access/access-state.ts',
    text: ' || !isClient(principal, client) ?',
    replacement: ' ?',
    test: CREDENTIALS,
  },
  // JSON Web Tokens
  {
    fault: 'the issuer of a token is not checked',
    file: 'src/api/access/jwt.ts',
    text: '    issuer,\n    audience,\n    algorithms',
    replacement: '    audience,\n    algorithms',
    test: JWT,
  },
  {
    fault: 'the audience of a token is not checked',
    file: 'src/api/access/jwt.ts',
    text: '    issuer,\n    audience,\n    algorithms',
    replacement: '    issuer,\n    algorithms',
    test: JWT,
  },
  {
    fault: 'RS512 is accepted',
    file: 'src/api/access/jwt.ts',
    text: "const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']",
    replacement: "const ALGORITHMS = ['RS256', 'RS512', 'ES256', 'EdDSA']",
    test: JWT,
  },
  {
    fault: 'another type of token, such as a logout token, is accepted',
    file: 'src/api/access/jwt.ts',
    text: "if (!ACCESS_TOKEN.test(protectedHeader.typ ?? 'JWT'))",
    replacement: "if (protectedHeader.typ === 'none')",
    test: JWT,
  },
  {
    fault: 'clocks may differ by ten minutes',
    file: 'src/api/access/jwt.ts',
    text: 'const CLOCK_SKEW = 60',
    replacement: 'const CLOCK_SKEW = 600',
    test: JWT,
  },
  {
    fault: 'tokens of a withdrawn key stay cached',
    file: 'src/api/access/issuer-keys.ts',
    text: 'if (keys !== this.#keys) this.#onChange()',
    replacement: '',
    test: JWT,
  },
  // Rate limits
  {
    fault: 'failed credentials are counted after they have been verified',
    file: 'src/api/access/admit.ts',
    text: '  if (isGuess) await countFailure(access, request)\n  const verified = await verifier.verify(text, named)\n',
    replacement:
      '  const verified = await verifier.verify(text, named)\n  if (isGuess) await countFailure(access, request)\n',
    test: LIMITS,
  },
  {
    fault: 'a key that was valid counts as a failed credential while the keys cannot be read',
    file: 'src/api/access/admit.ts',
    text: '!verifier.knows(text, named)',
    replacement: 'true',
    test: 'test/access.failures.test.ts',
  },
  {
    fault: 'guessed links of the console do not count as failed credentials',
    file: 'src/console/sign-in.ts',
    text: '    await countFailure(access, request)\n    const secret',
    replacement: '    const secret',
    test: 'test/console.sessions.test.ts',
  },
  {
    fault: 'a token of an issuer is served while the suspensions cannot be read',
    file: 'src/api/contract/register.ts',
    text: '  if (ofOrganisation) await access.ensureCurrent()\n',
    replacement: '',
    test: 'test/access.failures.test.ts',
  },
  {
    fault: 'a valid credential that is seen for the first time counts as a failed one',
    file: 'src/api/access/admit.ts',
    text: '  if (isGuess) await forgiveFailure(access, request)\n',
    replacement: '',
    test: LIMITS,
  },
  {
    fault: 'one request more than the limit is allowed',
    file: 'src/api/access/limits.ts',
    text: 'points: requests,',
    replacement: 'points: requests + 1,',
    test: LIMITS,
  },
  {
    fault: 'Retry-After can be 0',
    file: 'src/api/access/limits.ts',
    text: 'Math.max(1, Math.ceil(ms / 1000))',
    replacement: 'Math.max(0, Math.floor(ms / 1000))',
    test: LIMITS,
  },
  {
    fault: 'all credentials of an address share a limit',
    file: 'src/api/request/caller.ts',
    text: 'return request.principal?.id ?? addressOf(request)',
    replacement: 'return addressOf(request)',
    test: LIMITS,
  },
  {
    fault: 'failed credentials are counted for all addresses together',
    file: 'src/api/access/limits.ts',
    text: "await counting.consume('failed-credentials', addressOf(request))",
    replacement: "await counting.consume('failed-credentials', addressOf(request).slice(0, 3))",
    test: LIMITS,
  },
  {
    fault: 'the limit of an organisation counts each of its credentials separately',
    file: 'src/api/access/limits.ts',
    text: "counting.consume('organisation', eid)",
    replacement: "counting.consume('organisation', callerOf(request) + eid)",
    test: 'test/access.suspension.test.ts',
  },
  {
    fault: 'an IPv6 address is counted alone, not with its network',
    file: 'src/api/request/caller.ts',
    text: '    .slice(0, 4)\n',
    replacement: '',
    test: 'test/access.addresses.test.ts',
  },
  // Versions
  {
    fault: 'the version of the URL overrides the header',
    file: 'src/api/request/versions.ts',
    text: "(asked ?? findVersion(versionInUrl ?? VERSIONS[0].name, 'the URL')).prefix",
    replacement:
      "(versionInUrl === undefined ? (asked ?? VERSIONS[0]) : findVersion(versionInUrl, 'the URL')).prefix",
    test: VERSIONS,
  },
  {
    fault: 'of two versions in the header the first one counts',
    file: 'src/api/request/versions.ts',
    text: "const asked = [...new Set(value.split(',').map(",
    replacement: "const asked = [...new Set(value.split(',').slice(0, 1).map(",
    test: VERSIONS,
  },
  {
    fault: 'an unsupported version gets the newest one',
    file: 'src/api/request/versions.ts',
    text: '  if (refusal !== undefined) throw refusal\n',
    replacement: '  void refusal\n',
    test: VERSIONS,
  },
  // Negotiation
  {
    fault: 'an Accept that excludes JSON gets JSON',
    file: 'src/api/serving/negotiate.ts',
    text: '  if (accepted !== undefined) return accepted\n',
    replacement: "  if (accepted !== undefined || accept.startsWith('text/')) return accepted ?? first\n",
    test: METHODS,
  },
  {
    fault: '405 has no Allow',
    file: 'src/api/request/routing.ts',
    text: '        headers: { allow },\n',
    replacement: '        headers: {},\n',
    test: METHODS,
  },
  {
    fault: 'If-None-Match compares only the first ETag of a list',
    file: 'src/api/serving/negotiate.ts',
    text: "return header.split(',').some((each)",
    replacement: "return header.split(',').slice(0, 1).some((each)",
    test: 'test/occupations.caching.test.ts',
  },
  {
    fault: 'a compressed page is for every cache the same as the plain one',
    file: 'src/api/contract/send.ts',
    text: "[...varyBy, 'accept-encoding', ...shared]",
    replacement: '[...varyBy, ...shared]',
    test: CORS,
  },
  {
    fault: 'HEAD counts the bytes of the body that it does not send',
    file: 'src/api/telemetry/response-log.ts',
    text: "if (method === 'HEAD' || reply.statusCode === 304) return 0",
    replacement: 'if (reply.statusCode === 304) return 0',
    test: LOGS,
  },
  // Problem bodies
  {
    fault: 'the message of an internal error reaches the caller',
    file: 'src/api/contract/errors.ts',
    text: "return new Problem('internal-error', 'The service failed. The log has the cause under this ID.', {",
    replacement: "return new Problem('internal-error', String(error), {",
    test: PROBLEMS,
  },
  {
    fault: 'a problem may be cached',
    file: 'src/api/contract/errors.ts',
    text: "      'cache-control': 'no-store',\n",
    replacement: '',
    test: PROBLEMS,
  },
  {
    fault: 'the rest of a large refused body is read',
    file: 'src/api/contract/errors.ts',
    text: "...(hasLargeRest(request) && { connection: 'close' }),",
    replacement: '',
    test: BODIES,
  },
  // CORS
  {
    fault: 'an origin that is not listed may read responses',
    file: 'src/api/request/cors.ts',
    text: '    if (!this.#origins.has(origin)) return EXPOSE\n',
    replacement: '',
    test: CORS,
  },
  {
    fault: 'caches do not distinguish origins',
    file: 'src/api/request/cors.ts',
    text: 'return this.#origins !== undefined\n',
    replacement: 'return false\n',
    test: CORS,
  },
  {
    fault: 'a preflight lists no methods but GET',
    file: 'src/api/request/cors.ts',
    text: ".filter((method) => method !== 'OPTIONS')",
    replacement: ".filter((method) => method === 'GET')",
    test: CORS,
  },
  // Logs
  {
    fault: 'the log has the token of a submission, not its digest',
    file: 'src/api/telemetry/response-log.ts',
    text: "return hash('sha256', token)",
    replacement: 'return token',
    test: LOGS,
  },
  {
    fault: 'the line of a refused request names the organisation that it asked for',
    file: 'src/api/contract/register.ts',
    text: '  const path = read.path(request)\n',
    replacement:
      "  const path = read.path(request)\n  if (typeof request.headers.eid === 'string') request.owned = { eid: request.headers.eid, token: undefined }\n",
    test: LOGS,
  },
] satisfies Mutation[]
