import fc from 'fast-check'
import { expect, test } from 'vitest'
import { revokeKeys } from '../src/api/access/keys.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { startWorker } from './support/submission-worker.ts'

/** Everything in a text that a mark has been put into. */
const marksIn = (text: string): readonly string[] => text.match(/zq\d+zq/g) ?? []

/** Names that are easily taken for each other, or for something else. */
const EIDS = ['7001', '70011', 'Org-a', 'org-A', '__proto__'] as const
const organisation = fc.nat(EIDS.length - 1)
const mostly = <Usual extends string>(usual: Usual, other: fc.Arbitrary<number>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

/** Every operation on submissions: its path, whether it writes, and what it sends. */
const OPERATIONS: readonly (readonly [Method, string, boolean, 'csv' | 'batch' | 'new' | 'none'])[] = [
  ['POST', '/submissions', true, 'new'],
  ['GET', '/submissions', false, 'none'],
  ['GET', '/submissions/TOKEN', false, 'none'],
  ['PUT', '/submissions/TOKEN/files/people', true, 'csv'],
  ['GET', '/submissions/TOKEN/files/people', false, 'none'],
  ['POST', '/submissions/TOKEN/records/people', true, 'batch'],
  ['DELETE', '/submissions/TOKEN/records/people', true, 'batch'],
  ['POST', '/submissions/TOKEN/validation-runs', true, 'none'],
  ['GET', '/submissions/TOKEN/validation-runs', false, 'none'],
  ['GET', '/submissions/TOKEN/validation-runs/1', false, 'none'],
  ['DELETE', '/submissions/TOKEN/validation-runs/1', true, 'none'],
  ['GET', '/submissions/TOKEN/validation-results', false, 'none'],
  ['GET', '/submissions/TOKEN/validation-results?Filter.ErrorType=Error', false, 'none'],
  ['GET', '/submissions/TOKEN/validation-results/summary', false, 'none'],
  ['GET', '/submissions/TOKEN/validation-results/causes', false, 'none'],
  ['GET', '/submissions/TOKEN/validation-results/changes', false, 'none'],
  ['POST', '/submissions/TOKEN/submit', true, 'none'],
  ['DELETE', '/submissions/TOKEN', true, 'none'],
]

const call = fc.record({
  operation: fc.nat(OPERATIONS.length - 1),
  /** The owner of the submission. */
  owner: organisation,
  /** Who acts; each part may be that of yet another organisation. */
  caller: mostly('owner', organisation),
  credential: mostly('caller', organisation),
  eid: mostly('caller', organisation),
  which: fc.nat(20),
  token: fc.constantFrom(...Array.from({ length: 6 }, () => 'own' as const), 'longer', 'in other letters'),
  /** What the key may do; one that has ended may do nothing. */
  rights: fc.oneof(
    { weight: 6, arbitrary: fc.constant('all' as const) },
    { weight: 1, arbitrary: fc.constantFrom('read' as const, 'write' as const) },
    { weight: 1, arbitrary: fc.constantFrom('revoked' as const, 'expired' as const) },
  ),
  /** Whether a request for results has the ETags of those of others. */
  isConditional: fc.boolean(),
  purge: fc.boolean(),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

test('no sequence of calls shows one organisation a submission of another', async () => {
  const definition = makeSmallDefinition()
  const service = await Service.start({ RATE_LIMIT_SUBMISSIONS: 'off', DEFINITIONS: definition })
  const worker = await startWorker(service.database, [definition])
  const all = ['validation-results:read', 'submissions:write'] as const
  const scopes = { all, read: all.slice(0, 1), write: all.slice(1), revoked: all, expired: all }
  const keys = new Map<string, string>()
  for (const [index, eid] of EIDS.entries())
    for (const [name, granted] of Object.entries(scopes)) {
      const expires = Date.now() + (name === 'expired' ? -1 : 86_400_000)
      const { id, key } = await service.createKey({ scopes: granted, eids: [eid], expires })
      if (name === 'revoked') await revokeKeys(service.database, [id])
      keys.set(`${index}/${name}`, key)
    }
  await service.revisions.refresh()

  /** The organisation of each token and of each mark that was sent. */
  const tokens = new Map<string, number>()
  const marks = new Map<string, number>()
  /** The organisation whose results an ETag names. */
  const etags = new Map<string, number>()
  /** The bodies of refusals, by everything that they may depend on: not by the token. */
  const refusals = new Map<string, Set<string>>()
  const statuses = new Map<number, number>()
  let number = 0
  const mark = (organisation: number) => {
    const text = `zq${++number}zq`
    marks.set(text, organisation)
    return text
  }

  const take = async (call: Call) => {
    const { operation, owner, which, rights, isConditional, purge } = call
    const [method, path, writes, sends] = OPERATIONS[operation] ?? ['GET', '/submissions', false, 'none']
    const owned = [...tokens].filter(([, each]) => each === owner)
    const own = owned[which % Math.max(1, owned.length)]?.[0] ?? 'never-existed'
    const token = { own, longer: `${own}x`, 'in other letters': own.toUpperCase() }[call.token]
    const caller = call.caller === 'owner' ? owner : call.caller
    const holder = call.credential === 'caller' ? caller : call.credential
    const acting = call.eid === 'caller' ? caller : call.eid
    const named = mark(acting)
    const csv = `localId,id,group,age\n${named},${named},${named},3\n`
    const batch = { content: [{ localId: named, ...(method === 'POST' && { id: named, group: named }) }] }
    const foreignEtags = [...etags].filter(([, reader]) => reader !== acting).slice(-20)
    const readsResults = path.includes('/validation-results')
    const isMatched = isConditional && readsResults && foreignEtags.length > 0
    const payload = { csv, batch, new: { returnId: `20${1000 + (which % 3)}` }, none: undefined }[sends]
    const response = await service.request({
      method,
      url: `/v1${path.replace('TOKEN', token)}`,
      headers: {
        'x-api-key': keys.get(`${holder}/${rights}`) ?? '',
        eid: EIDS[acting] ?? '',
        ...(sends === 'csv' && { 'content-type': 'text/csv' }),
        ...(isMatched && { 'if-none-match': foreignEtags.map(([etag]) => etag).join(', ') }),
      },
      ...(payload !== undefined && { payload }),
    })
    const covered = holder === acting && (rights === 'all' || rights === (writes ? 'write' : 'read'))
    const allowed = covered && (!path.includes('TOKEN') || tokens.get(token) === acting)
    statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1)
    expect([method, path, response.statusCode === 401]).toEqual([method, path, !allowed])
    expect(response.statusCode).not.toBe(304)
    const { etag } = response.headers
    // Before their first run, all submissions have the same results: none.
    if (allowed && readsResults && !`${etag}`.includes('"r0.')) etags.set(`${etag}`, acting)
    const whole = response.body + JSON.stringify(response.headers)
    const foreign = marksIn(whole).filter((each) => marks.get(each) !== acting)
    expect(foreign).toEqual([])
    for (const [each, whose] of tokens) if (whose !== acting) expect(whole.includes(each)).toBe(false)
    if (!allowed) {
      const { instance: _, ...rest } = response.json()
      const asked = JSON.stringify([covered || [holder, acting, rights, writes], acting])
      refusals.set(asked, (refusals.get(asked) ?? new Set()).add(JSON.stringify(rest)))
      expect(marksIn(whole)).toEqual([])
    } else if (sends === 'new') tokens.set(response.json().submissionToken, acting)
    if (purge && method === 'DELETE') await sweep(service.database)
    const lines = service.log.splice(0).join('') + JSON.stringify(worker.log.splice(0))
    expect(marksIn(lines)).toEqual([])
    for (const each of tokens.keys()) expect(lines.includes(each)).toBe(false)
  }

  // Whatever the sequences contain, each operation succeeds once.
  const right = {
    owner: 0,
    caller: 'owner',
    credential: 'caller',
    eid: 'caller',
    which: 0,
    token: 'own',
    rights: 'all',
    isConditional: false,
    purge: false,
  } as const
  for (const operation of OPERATIONS.keys()) await take({ ...right, operation })
  await fc.assert(
    fc.asyncProperty(
      fc.noBias(fc.array(call, { minLength: 60, maxLength: 150, size: 'max' })),
      async (calls) => {
        for (const each of calls) await take(each)
      },
    ),
    { ...cases(4), endOnFailure: true },
  )
  for (const [asked, bodies] of refusals) expect([asked, bodies.size]).toEqual([asked, 1])
  expect(refusals.size).toBeGreaterThan(1)
  for (const status of [200, 201, 202, 401]) expect(statuses.get(status) ?? 0).toBeGreaterThan(0)
})
