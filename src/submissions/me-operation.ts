import Type from 'typebox'
import type { Access } from '../access/admit.ts'
import { describeDocument } from '../http/describe.ts'
import { declare, document, type Operation } from '../operation.ts'
import { formatTimestamp } from '../text/timestamp.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))
const list = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

const Caller = Type.Object(
  {
    id: text('The public id of the credential.'),
    clientId: text('The client that it was given to.'),
    scopes: list('What it may be used for.'),
    eids: list('The organisations that it may act for.'),
    expires: Type.Optional(Type.String({ description: 'When it ends.', format: 'date-time' })),
    limits: Type.Optional(
      Type.Array(
        Type.Object({
          name: text('What the limit counts, as in the header RateLimit.'),
          requests: Type.Optional(Type.Integer({ description: 'Requests in each window.' })),
          seconds: Type.Optional(Type.Integer({ description: 'Length of a window.' })),
        }),
        { description: 'The limits that apply to it; RateLimit of each response says what is left.' },
      ),
    ),
  },
  { description: 'The credential of a request.' },
)

/** Describes the credential that the request carries: no EID is needed. */
export function describeCaller(access: Access): Operation {
  return declare({
    name: 'me',
    id: 'getCaller',
    summary: 'Describe the credential',
    description:
      'The client, scopes, organisations, expiry and limits of the credential that the request carries.',
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
        limits: [{ name: 'submissions', requests: 600, seconds: 60 }],
      }),
    },
    problems: {
      'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
      unauthorized: 'There is no valid credential.',
      'too-many-requests': 'The limit of requests is used up for now.',
    },
    handle({ principal }) {
      const { id, client, scopes = new Set<string>(), eids = new Set<string>(), expires } = principal ?? {}
      return document({
        id,
        clientId: client,
        scopes: [...scopes].sort(),
        eids: [...eids].sort(),
        ...(expires !== undefined && { expires: formatTimestamp(expires) }),
        limits: Object.entries(access.limits)
          .filter(([name]) => name !== 'failed-credentials')
          .map(([name, { requests, seconds }]) => ({ name, requests, seconds })),
      })
    },
  })
}
