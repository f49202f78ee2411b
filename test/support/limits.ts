import type { RateLimits } from '../../src/api/access/limits.ts'

/** No limit at all, for tests that set some. */
export const NO_LIMITS: RateLimits = {
  occupations: 'off',
  'validation-results': 'off',
  submissions: 'off',
  codings: 'off',
  organisation: 'off',
  'failed-credentials': 'off',
}
