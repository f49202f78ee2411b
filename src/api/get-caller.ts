import { type Static, Type } from '../foundation/schema/type.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import type { Access } from './access/admit.ts'
import { counterOf, type LimitName, organisationOf } from './access/limits.ts'
import { WITH_CREDENTIAL } from './contract/access-rules.ts'
import { type Operation, operation } from './contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument } from './contract/describe.ts'
import { strings, text, time } from './contract/fields.ts'
import { document } from './contract/results.ts'

const Caller = Type.Object(
  {
    id: text('The public id of the credential.'),
    clientId: text('The client that holds the credential.'),
    scopes: strings('The scopes of the credential.'),
    eids: strings('The organisations that it covers.'),
    suspended: strings('Those of them that the operator has suspended.'),
    expires: time('When it expires.'),
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
  { title: 'Caller', description: 'The credential of a request.' },
)

/** Describes the credential of the request; an EID is needed only for the limits of that organisation. */
export function getCaller(access: Access): Operation {
  return operation({
    name: 'me',
    id: 'getCaller',
    summary: 'Describe the credential',
    description:
      'The client, scopes, organisations, expiry and rate limits of the credential in the request. With the header EID, the remaining requests are those for that organisation.',
    tag: 'Credential',
    method: 'GET',
    path: '/me',
    access: WITH_CREDENTIAL,
    limit: 'submissions',
    request: {
      header: Type.Object({ EID: text('The organisation whose limits are shown.') }),
    },
    responses: {
      200: describeDocument(Caller, 'The credential.', {
        id: 'mahi_0123456789ab',
        clientId: 'demo',
        scopes: ['occupations:read', 'validation-results:read'],
        eids: ['9999'],
        suspended: [],
        expires: '2027-06-30T23:59:59.000Z',
        limits: [{ name: 'submissions', requests: 600, seconds: 60, remaining: 599, reset: 60 }],
      }),
    },
    problems: COMMON_PROBLEMS,
  }).handle(async ({ request, principal }) => {
    const { id, client, scopes = new Set<string>(), eids = new Set<string>(), expires } = principal ?? {}
    const limits: NonNullable<Static<typeof Caller>['limits']> = []
    const eid = organisationOf(request, principal)
    for (const [name, { requests, seconds }] of Object.entries(access.limits)) {
      const counter = counters(id ?? '', eid)[name as LimitName]
      if (counter === undefined) continue
      const state = await access.consume(name as LimitName, counter, 0)
      limits.push({
        name,
        requests,
        seconds,
        ...(state !== undefined && { remaining: state.remaining, reset: state.reset }),
      })
    }
    return document({
      ...(id !== undefined && { id, clientId: client ?? '' }),
      scopes: [...scopes].sort(),
      eids: [...eids].sort(),
      suspended: [...eids].filter(access.isSuspended).sort(),
      ...(expires !== undefined && { expires: formatTimestamp(expires) }),
      limits,
    })
  })
}

/** What each limit counts the requests of a credential by; those that are not listed do not count them. */
function counters(id: string, eid: string | undefined): Partial<Record<LimitName, string>> {
  const ofOrganisation = counterOf(id, eid)
  return {
    occupations: id,
    codings: id,
    'validation-results': ofOrganisation,
    submissions: ofOrganisation,
    ...(eid !== undefined && { organisation: eid }),
  }
}
