import Type from 'typebox'
import type { Access } from '../access/admit.ts'
import type { OperationLimit } from '../access/rate-limit.ts'
import { describeDocument } from '../http/describe.ts'
import { text } from '../http/fields.ts'
import { declare, document, type Operation } from '../operation.ts'
import { formatTimestamp } from '../text/timestamp.ts'
import { COMMON_PROBLEMS } from './operations.ts'

const list = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

const Caller = Type.Object(
  {
    id: text('The public id of the credential.'),
    clientId: text('The client that holds the credential.'),
    scopes: list('The scopes of the credential.'),
    eids: list('The organisations that it covers.'),
    expires: Type.Optional(Type.String({ description: 'When it expires.', format: 'date-time' })),
    limits: Type.Optional(
      Type.Array(
        Type.Object({
          name: text('What the limit counts, as in the header RateLimit.'),
          requests: Type.Optional(Type.Integer({ description: 'Requests in each window.' })),
          seconds: Type.Optional(Type.Integer({ description: 'Length of a window.' })),
          remaining: Type.Optional(Type.Integer({ description: 'Requests left in this window.' })),
          reset: Type.Optional(Type.Integer({ description: 'Seconds until this window ends.' })),
        }),
        { description: 'The rate limits that apply to it, as the header RateLimit describes them.' },
      ),
    ),
  },
  { description: 'The credential of a request.' },
)

/** Describes the credential of the request; no EID is needed. */
export function describeCaller(access: Access): Operation {
  return declare({
    name: 'me',
    id: 'getCaller',
    summary: 'Describe the credential',
    description:
      'The client, scopes, organisations, expiry and rate limits of the credential in the request.',
    tag: 'Credential',
    method: 'GET',
    path: '/me',
    limit: 'submissions',
    schemas: { Caller },
    responses: {
      200: describeDocument('Caller', 'The credential.', {
        id: 'mahi_0123456789ab',
        clientId: 'demo',
        scopes: ['occupations:read', 'validation-results:read'],
        eids: ['9999'],
        expires: '2027-06-30T23:59:59.000Z',
        limits: [{ name: 'submissions', requests: 600, seconds: 60, remaining: 599, reset: 60 }],
      }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      unauthorized: 'There is no valid credential.',
    },
    async handle({ principal }) {
      const { id, client, scopes = new Set<string>(), eids = new Set<string>(), expires } = principal ?? {}
      const limits: object[] = []
      for (const [name, { requests, seconds }] of Object.entries(access.limits)) {
        if (name === 'failed-credentials') continue
        const state = await access.consume(name as OperationLimit, id ?? '', 0)
        limits.push({ name, requests, seconds, remaining: state?.remaining, reset: state?.reset })
      }
      return document({
        id,
        clientId: client,
        scopes: [...scopes].sort(),
        eids: [...eids].sort(),
        ...(expires !== undefined && { expires: formatTimestamp(expires) }),
        limits,
      })
    },
  })
}
