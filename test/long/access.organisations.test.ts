import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { revokeKeys } from '../../src/api/access/keys.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { Issuer, type IssuerKey } from '../support/jwks.ts'
import { cases, SEED } from '../support/properties.ts'
import { Service } from '../support/service.ts'
import { temporaryDatabaseUrl } from '../support/temporary.ts'

/** Names that are easily taken for each other, or for something else. */
const EIDS = ['7001', '70011', '07001', 'Org-a', 'org-A', '__proto__']
const SCOPES: Scope[] = ['occupations:read', 'validation-results:read']

interface Credential {
  readonly headers: Readonly<Record<string, string>>
  readonly eids: readonly string[]
  readonly scopes: readonly Scope[]
  readonly expires: number
  /** Of a key. */
  readonly id?: string
  isRevoked?: boolean
}

interface Submission {
  readonly token: string
  readonly eid: string
  readonly run: number
  readonly entries: readonly object[]
}

interface Question {
  readonly by: Credential
  readonly eid: string
  readonly token: string
  readonly page: number
  readonly pageSize: number
  readonly service: Service
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
}

interface Outcome {
  readonly status: number
  readonly body?: string
  /** Of the page of a run. */
  readonly name?: string
}

const anyOf = fc.nat(10_000)
const reading = fc.record({
  replica: fc.nat(1),
  submission: anyOf,
  credential: anyOf,
  /** Whether the credential is one of those that cover the organisation. */
  isFitting: fc.boolean(),
  token: fc.constantFrom('own', 'own', 'own', 'own', 'never existed', 'longer', 'in other letters'),
  eid: fc.constantFrom('own', 'own', 'own', 'own', 'own', 'own', '9999', ...EIDS),
  page: fc.constantFrom(1, 1, 2, 3),
  pageSize: fc.constantFrom(2, 5, 100),
  /** Whether it has the ETags of other pages. */
  isConditional: fc.boolean(),
})
type Reading = typeof reading extends fc.Arbitrary<infer T> ? T : never

const publishing = fc.record({
  organisation: fc.nat(5),
  count: fc.nat(12),
  which: anyOf,
  isNew: fc.boolean(),
})
type Publishing = typeof publishing extends fc.Arbitrary<infer T> ? T : never

const rights = {
  eids: fc.subarray(EIDS, { maxLength: 3 }),
  scopes: fc.constantFrom(SCOPES, SCOPES, SCOPES, SCOPES.slice(0, 1), SCOPES.slice(1)),
  /** Seconds. */
  life: fc.constantFrom(-3600, 1, 60, 86_400, 86_400),
}
const step = fc.oneof(
  { weight: 60, arbitrary: fc.record({ read: reading }) },
  { weight: 5, arbitrary: fc.record({ during: publishing, reads: fc.array(reading, { maxLength: 8 }) }) },
  { weight: 8, arbitrary: fc.record({ publish: publishing }) },
  { weight: 6, arbitrary: fc.record({ key: fc.record(rights) }) },
  { weight: 4, arbitrary: fc.record({ jwt: fc.record(rights) }) },
  { weight: 3, arbitrary: fc.record({ revoke: anyOf }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.constantFrom(999, 1_000, 61_000, 3_600_000) }) },
)

/** Two replicas of a service, and what they hold. */
class Organisations {
  readonly statuses = new Set<number>()
  readonly #services: readonly [Service, Service]
  readonly #issuer: Issuer
  readonly #signer: IssuerKey
  /** The pages of runs by their ETags, and the other way round. */
  readonly #pages = new Map<string, string>()
  readonly #etags = new Map<string, string>()
  #credentials: Credential[] = []
  #submissions: Submission[] = []
  #marks = 0

  private constructor(services: readonly [Service, Service], issuer: Issuer, signer: IssuerKey) {
    this.#services = services
    this.#issuer = issuer
    this.#signer = signer
  }

  static async start(settings: Record<string, string>): Promise<Organisations> {
    const issuer = await Issuer.start()
    const signer = await issuer.addKey()
    const url = temporaryDatabaseUrl()
    const environment = { ...settings, ...issuer.settings }
    const services = [await Service.start(environment, url), await Service.start(environment, url)] as const
    return new Organisations(services, issuer, signer)
  }

  /** Forgets all credentials and submissions: what there was goes on existing, and belongs to nobody. */
  async begin(): Promise<void> {
    const unknown = { 'x-api-key': `mahi_0123456789ab_${'A'.repeat(43)}` }
    this.#credentials = [{ headers: unknown, eids: EIDS, scopes: SCOPES, expires: 0 }]
    this.#submissions = []
    for (const eids of [EIDS.slice(0, 3), EIDS.slice(2, 5), EIDS.slice(5)])
      await this.#createKey({ eids, scopes: SCOPES, life: 86_400 })
    for (const organisation of EIDS.keys())
      await this.#publish({ organisation, count: 7, which: 0, isNew: true })
  }

  async take(each: typeof step extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
    if ('read' in each) await this.#readAll([each.read])
    else if ('during' in each) await this.#readAll(each.reads, each.during)
    else if ('publish' in each) await this.#publish(each.publish)
    else if ('key' in each) await this.#createKey(each.key)
    else if ('jwt' in each) await this.#issueJwt(each.jwt)
    else if ('revoke' in each) await this.#revoke(each.revoke)
    else vi.setSystemTime(Date.now() + each.pass)
  }

  async #createKey({ eids, scopes, life }: { eids: string[]; scopes: Scope[]; life: number }) {
    const expires = Date.now() + life * 1000
    const { key, id } = await this.#services[0].createKey({ scopes, eids, expires })
    this.#credentials.push({ headers: { 'x-api-key': key }, eids, scopes, expires, id })
  }

  async #issueJwt({ eids, scopes, life }: { eids: string[]; scopes: Scope[]; life: number }) {
    const exp = Math.floor(Date.now() / 1000) + life
    const claims = { eid: eids, scope: scopes.join(' '), exp, jti: crypto.randomUUID() }
    const authorization = `Bearer ${await this.#issuer.sign(this.#signer, claims)}`
    // Clocks may differ by a minute.
    this.#credentials.push({ headers: { authorization }, eids, scopes, expires: (exp + 60) * 1000 })
  }

  async #revoke(which: number): Promise<void> {
    const keys = this.#credentials.filter(({ id }) => id !== undefined)
    const key = keys[which % keys.length]
    if (key?.id === undefined) return
    await revokeKeys(this.#services[0].database, [key.id])
    key.isRevoked = true
    for (const { revisions } of this.#services) await revisions.refresh()
  }

  /** Every text of a run has a mark that occurs nowhere else: where it turns up, it is known what has got there. */
  async #publish({ organisation, count, which, isNew }: Publishing): Promise<void> {
    const eid = EIDS[organisation] ?? ''
    const mine = this.#submissions.filter((each) => each.eid === eid)
    const old = isNew ? undefined : mine[which % mine.length]
    const mark = `zq${++this.#marks}zq`
    const entries = Array.from({ length: count }, (_, index) => ({
      localId: `${mark}-${index}`,
      studentId: mark,
      recordText: `A|${mark}|B`,
    }))
    const token = old?.token ?? `token-${this.#marks}-${crypto.randomUUID()}`
    await this.#services[0].publish(entries, { eid, token, returnId: `of-${token}` })
    const submission = { token, eid, run: (old?.run ?? 0) + 1, entries }
    if (old === undefined) this.#submissions.push(submission)
    else this.#submissions[this.#submissions.indexOf(old)] = submission
  }

  /** Sends all of them at once; a publish meanwhile may show in an answer or not yet, but not in a part of it. */
  async #readAll(readings: readonly Reading[], during?: Publishing): Promise<void> {
    const questions = readings.map((each) => this.#ask(each))
    const before = questions.map((question) => this.#predict(question))
    const answers = questions.map(({ service, url, headers }) => service.get(url, headers))
    if (during !== undefined) await this.#publish(during)
    const after = questions.map((question) => this.#predict(question))
    for (const [index, question] of questions.entries()) {
      const answer = (await answers[index]) as LightMyRequestResponse
      const { statusCode: status, body, headers } = answer
      this.statuses.add(status)
      const outcomes = [before[index], after[index]].filter((each) => each?.status === status)
      expect(outcomes.length).toBeGreaterThan(0)
      if (status === 200) expect(outcomes.map((each) => each?.body)).toContain(body)
      else expect(JSON.stringify([headers, body])).not.toMatch(/zq\d+zq/)
      if (status === 401) await this.#assertLikeUnknown(question, answer)
      if (status === 200 && during === undefined)
        await this.#assertUnchanged(question, after[index]?.name ?? '', String(headers.etag))
    }
  }

  #ask({
    replica,
    submission,
    credential,
    isFitting,
    eid,
    token,
    page,
    pageSize,
    isConditional,
  }: Reading): Question {
    const own = this.#submissions[submission % this.#submissions.length] as Submission
    const fitting = this.#credentials.filter(({ eids }) => eids.includes(own.eid))
    const choice = isFitting && fitting.length > 0 ? fitting : this.#credentials
    const by = choice[credential % choice.length] as Credential
    const given = {
      own: own.token,
      'never existed': 'never',
      longer: `${own.token}x`,
      'in other letters': own.token.toUpperCase(),
    }[token] as string
    const named = eid === 'own' ? own.eid : eid
    const name = `${given} ${own.run} ${page} ${pageSize}`
    const etags = [...this.#etags].filter(([each]) => each !== name).map(([, etag]) => etag)
    return {
      ...{ by, eid: named, token: given, page, pageSize },
      service: this.#services[replica] as Service,
      url: `/v1/submissions/${given}/validation-results?page=${page}&pageSize=${pageSize}`,
      headers: {
        ...{ 'x-api-key': undefined, eid: named, ...by.headers },
        ...(isConditional && etags.length > 0 && { 'if-none-match': etags.slice(-20).join(', ') }),
      },
    }
  }

  #predict({ by, eid, token, page, pageSize }: Question): Outcome {
    const found = this.#submissions.find((each) => each.token === token)
    const isValid = by.isRevoked !== true && Date.now() < by.expires
    const isAllowed = isValid && by.scopes.includes('validation-results:read') && by.eids.includes(eid)
    if (!isAllowed || found?.eid !== eid) return { status: 401 }
    const { entries, run } = found
    if (page > Math.max(1, Math.ceil(entries.length / pageSize))) return { status: 400 }
    const results = entries.slice((page - 1) * pageSize, page * pageSize)
    const body = JSON.stringify({ page, pageSize, results, totalCount: entries.length })
    return { status: 200, body, name: `${token} ${run} ${page} ${pageSize}` }
  }

  /** A refusal differs from that of an unknown token in nothing but its id, the date and what is left of a limit. */
  async #assertLikeUnknown({ service, headers }: Question, answer: LightMyRequestResponse): Promise<void> {
    const strip = (response: LightMyRequestResponse) => {
      const { 'x-request-id': id, date: _, ratelimit: __, ...rest } = response.headers
      return [response.statusCode, rest, response.body.replace(String(id), '')]
    }
    const unknown = await service.get('/v1/submissions/unknown/validation-results', headers)
    expect(strip(answer)).toEqual(strip(unknown))
  }

  /** An ETag names one page of one run for ever. */
  async #assertUnchanged({ service, url, headers }: Question, name: string, etag: string): Promise<void> {
    expect([this.#etags.get(name) ?? etag, this.#pages.get(etag) ?? name]).toEqual([etag, name])
    this.#etags.set(name, etag)
    this.#pages.set(etag, name)
    const again = await service.get(url, { ...headers, 'if-none-match': etag })
    expect([again.statusCode, again.body]).toEqual([304, ''])
  }
}

afterEach(() => {
  vi.useRealTimers()
})

test.each([
  { PAGE_CACHE_MB: '64' },
  { PAGE_CACHE_MB: '0', RATE_LIMIT_RESULTS: '100000000/60', RATE_LIMIT_ORGANISATION: '100000000/60' },
])('whatever the sequence of calls, no caller sees data of others: two replicas, %j', async (settings) => {
  // Frozen, and moved by the sequences: what expires is then known to the millisecond.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  const installation = await Organisations.start(settings)
  const sequences = fc.noBias(fc.array(step, { minLength: 50, maxLength: 250, size: 'max' }))
  await fc.assert(
    fc.asyncProperty(sequences, async (steps) => {
      await installation.begin()
      for (const each of steps) await installation.take(each)
    }),
    { ...cases(5), seed: SEED, endOnFailure: true },
  )
  expect([...installation.statuses].sort()).toEqual([200, 400, 401])
})
