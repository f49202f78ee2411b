import fc from 'fast-check'
import { expect, test } from 'vitest'
import { purgeNow } from '../src/submissions/retention/purge.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { startWorker } from './support/submission-worker.ts'

/** Everything in a text that a mark has been put into. */
const marksIn = (text: string): readonly string[] => text.match(/zq\d+zq/g) ?? []

const EIDS = ['7001', '70011', 'Org-a'] as const

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
  /** Most calls are right; of the others each part may be another organisation's. */
  credential: fc.oneof(
    { weight: 5, arbitrary: fc.constant('own' as const) },
    { weight: 1, arbitrary: fc.nat(2) },
  ),
  eid: fc.oneof({ weight: 5, arbitrary: fc.constant('own' as const) }, { weight: 1, arbitrary: fc.nat(2) }),
  organisation: fc.nat(2),
  which: fc.nat(20),
  scopes: fc.oneof(
    { weight: 6, arbitrary: fc.constant('all' as const) },
    { weight: 1, arbitrary: fc.constantFrom('read' as const, 'write' as const) },
  ),
  purge: fc.boolean(),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

test('no sequence of calls shows one organisation a submission of another', async () => {
  const definition = makeSmallDefinition()
  const service = await Service.start({ RATE_LIMIT_SUBMISSIONS: 'off', DEFINITIONS: definition })
  const worker = await startWorker(service.database, [definition])
  const scopes = {
    all: ['validation-results:read', 'submissions:write'],
    read: ['validation-results:read'],
    write: ['submissions:write'],
  } as const
  const keys = new Map<string, string>()
  for (const [index, eid] of EIDS.entries())
    for (const [name, granted] of Object.entries(scopes))
      keys.set(`${index}/${name}`, (await service.createKey({ scopes: granted, eids: [eid] })).key)

  /** The organisation of each token and of each mark that was sent. */
  const tokens = new Map<string, number>()
  const marks = new Map<string, number>()
  /** The bodies of refusals, by everything that they may depend on: not by the token. */
  const refusals = new Map<string, Set<string>>()
  const statuses = new Map<number, number>()
  let number = 0
  const mark = (organisation: number) => {
    const text = `zq${++number}zq`
    marks.set(text, organisation)
    return text
  }

  const take = async ({ operation, credential, eid, organisation, which, scopes: granted, purge }: Call) => {
    const [method, path, writes, sends] = OPERATIONS[operation] ?? ['GET', '/submissions', false, 'none']
    const owned = [...tokens].filter(([, owner]) => owner === organisation)
    const token = owned[which % Math.max(1, owned.length)]?.[0] ?? 'never-existed'
    const holder = credential === 'own' ? organisation : credential
    const acting = eid === 'own' ? organisation : eid
    const named = mark(acting)
    const csv = `localId,id,group,age\n${named},${named},${named},3\n`
    const batch = { content: [{ localId: named, ...(method === 'POST' && { id: named, group: named }) }] }
    const payload = { csv, batch, new: { returnId: `20${1000 + (which % 3)}` }, none: undefined }[sends]
    const response = await service.request({
      method,
      url: `/v1${path.replace('TOKEN', token)}`,
      headers: {
        'x-api-key': keys.get(`${holder}/${granted}`) ?? '',
        eid: EIDS[acting] ?? '',
        ...(sends === 'csv' && { 'content-type': 'text/csv' }),
      },
      ...(payload !== undefined && { payload }),
    })
    const covered = holder === acting && (granted === 'all' || granted === (writes ? 'write' : 'read'))
    const allowed = covered && (!path.includes('TOKEN') || tokens.get(token) === acting)
    statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1)
    expect([method, path, response.statusCode === 401]).toEqual([method, path, !allowed])
    const whole = response.body + JSON.stringify(response.headers)
    const foreign = [...marksIn(whole).filter((each) => marks.get(each) !== acting)]
    expect(foreign).toEqual([])
    for (const [each, owner] of tokens) if (owner !== acting) expect(whole.includes(each)).toBe(false)
    if (!allowed) {
      const { instance: _, ...rest } = response.json()
      const asked = JSON.stringify([covered || [holder, acting, granted, writes], acting])
      refusals.set(asked, (refusals.get(asked) ?? new Set()).add(JSON.stringify(rest)))
      expect(marksIn(whole)).toEqual([])
    } else if (sends === 'new') tokens.set(response.json().submissionToken, acting)
    if (purge && method === 'DELETE') await purgeNow(service.database)
    const lines = service.log.splice(0).join('') + JSON.stringify(worker.log.splice(0))
    expect(marksIn(lines)).toEqual([])
    for (const each of tokens.keys()) expect(lines.includes(each)).toBe(false)
  }

  // Whatever the sequences contain, each operation succeeds once.
  const right = {
    credential: 'own',
    eid: 'own',
    organisation: 0,
    which: 0,
    scopes: 'all',
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
