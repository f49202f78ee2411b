import { generateKeyPair } from 'jose'
import { expect, vi } from 'vitest'
import { revokeKeys } from '../../src/api/access/key-changes.ts'
import { createKey } from '../../src/api/access/keys.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { InputRefused } from '../../src/foundation/faults/faults.ts'
import { until } from './command.ts'
import { listen } from './connection.ts'
import { askExactly, type ExactAnswer, headerOf } from './exact-http.ts'
import { Issuer, type IssuerKey } from './jwks.ts'
import {
  type Credential,
  marksIn,
  type Outcome,
  predict,
  type Question,
  type Submission,
  World,
} from './organisation-model.ts'
import type { Publishing, Reading, Step } from './organisation-steps.ts'
import { Service } from './service.ts'
import { temporaryDatabaseUrl } from './temporary.ts'

/** Names that are easily taken for each other, or for something else. */
const EIDS = ['7001', '70011', '07001', 'Org-a', 'org-A', '__proto__']
const NEVER = '9999'

/** Two replicas of a service, and a model of what they hold: every answer has to be the one that the model predicts. */
export class Organisations {
  readonly counts = new Map<string, number>()
  #world = new World()
  readonly #services: readonly Service[]
  readonly #ports: readonly number[]
  readonly #issuer: Issuer
  readonly #signer: IssuerKey
  readonly #publicOccupations: boolean
  readonly #limited: boolean
  /** What every refusal looks like, but for the name of its limit; the first one decides. */
  readonly #refusals = new Map<string, string>()
  /** Runs and pages by the ETag that names them. */
  readonly #names = new Map<string, string>()
  /** Texts that must never be in an answer or a log: keys and what is left of them. */
  readonly #secrets: string[] = []

  private constructor(
    services: readonly Service[],
    ports: readonly number[],
    issuer: Issuer,
    signer: IssuerKey,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#services = services
    this.#ports = ports
    this.#issuer = issuer
    this.#signer = signer
    this.#publicOccupations = settings.OCCUPATIONS_ACCESS === 'public'
    this.#limited = settings.RATE_LIMIT_RESULTS !== undefined
  }

  static async start(settings: Record<string, string>): Promise<Organisations> {
    const issuer = await Issuer.start()
    const signer = await issuer.addKey()
    const url = temporaryDatabaseUrl()
    const environment = { ...settings, ...issuer.settings }
    const services = [await Service.start(environment, url), await Service.start(environment, url)]
    const ports = await Promise.all(services.map(listen))
    return new Organisations(services, ports, issuer, signer, settings)
  }

  get #first(): Service {
    const [first] = this.#services
    if (first === undefined) throw new Error('no service')
    return first
  }

  /** Forgets all credentials and submissions: what there was goes on existing, and belongs to nobody. */
  async begin(): Promise<void> {
    const { catalogue, imports } = this.#world
    this.#world = new World(this.#world)
    this.#secrets.splice(0, this.#secrets.length - 200)
    Object.assign(this.#world, { catalogue, imports })
    if (imports === 0) await this.#import(0)
    for (const organisations of [[0, 1], [1, 2], [3], [4, 5]]) {
      await this.#createKey({
        organisations,
        scopes: ['occupations:read', 'validation-results:read'],
        client: 0,
        life: 86_400_000,
      })
    }
    for (const organisation of EIDS.keys()) {
      await this.#publish({
        organisation,
        count: 7,
        long: organisation % 2 === 0,
        to: 'a token of choice',
        which: 0,
        flaw: 'none',
      })
    }
  }

  async take(step: Step): Promise<void> {
    switch (step.step) {
      case 'read':
        return await this.#readAll([step.reading])
      case 'read at once':
        return await this.#readAll(step.readings)
      case 'read during a publish':
        return await this.#readAll(step.readings, () => this.#publish(step.publishing))
      case 'publish':
        return await this.#publish(step)
      case 'create a key':
        return await this.#createKey(step)
      case 'issue a JWT':
        return await this.#issueJwt(step)
      case 'revoke a key':
        return await this.#revoke(step)
      case 'let time pass':
        vi.setSystemTime(Date.now() + step.milliseconds)
        return
      case 'import':
        return await this.#import(step.which)
    }
  }

  /** What came of it, in one line. */
  describe(): string {
    return [...this.counts].map(([what, count]) => `${count} ${what}`).join(', ')
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  async #createKey({
    organisations,
    scopes,
    client,
    life,
  }: {
    organisations: readonly number[]
    scopes: readonly Scope[]
    client: number
    life: number
  }): Promise<void> {
    const eids = organisations.map((index) => EIDS[index] ?? NEVER)
    const expires = Date.now() + life
    const name = `client-${client}`
    const { key, id } = await createKey(this.#first.database, { client: name, scopes, eids, expires })
    this.#secrets.push(key.slice(18))
    this.#world.credentials.push({
      kind: 'key',
      text: key,
      id,
      client: name,
      scopes,
      eids,
      expires,
      wrong: false,
    })
    this.#count('keys created')
  }

  async #issueJwt(step: Extract<Step, { step: 'issue a JWT' }>): Promise<void> {
    const { organisations, claim, client, flaw, life } = step
    const named = organisations.map((index) => EIDS[index] ?? NEVER)
    const eids = claim === 'a list' ? named : named.slice(0, 1)
    const exp = Math.floor(Date.now() / 1000) + life
    const signer = flaw === 'forged' ? { ...this.#signer, ...(await generateKeyPair('EdDSA')) } : this.#signer
    const signed = await this.#issuer.sign(signer, {
      client_id: `client-${client}`,
      sub: `subject-${client}`,
      eid: claim === 'a list' ? eids : eids[0],
      scope: step.scopes.join(' '),
      exp,
      jti: crypto.randomUUID(),
      ...(flaw === 'another audience' && { aud: 'another' }),
      ...(flaw === 'another issuer' && { iss: 'https://another.example/' }),
    })
    const text = flaw === 'not signed' ? signed.replace(/[^.]*$/, '') : signed
    this.#secrets.push(text.split('.')[2] || text)
    this.#world.credentials.push({
      kind: 'jwt',
      text,
      client: `client-${client}`,
      scopes: step.scopes,
      eids,
      expires: (exp + 60) * 1000,
      wrong: flaw !== 'none',
    })
    this.#count('JWTs issued')
  }

  async #revoke({ which, told }: { which: number; told: boolean }): Promise<void> {
    const keys = this.#world.credentials.filter(({ kind }) => kind === 'key')
    const key = keys[which % keys.length]
    if (key?.id === undefined) return
    const own = this.#world.submissions.find(({ eid }) => key.eids.includes(eid))
    const seen = own !== undefined && !key.wrong && key.scopes.length === 2 && Date.now() < key.expires
    await revokeKeys(this.#first.database, [key.id])
    key.wrong = true
    this.#count('keys revoked')
    if (told || !seen) return void (await this.#refresh())
    for (const port of this.#ports) {
      const headers = [
        ['x-api-key', key.text],
        ['eid', own.eid],
      ] as const
      const path = `/v1/submissions/${own.token}/validation-results`
      await until(async () => {
        const { status } = await askExactly(port, { method: 'GET', path, headers })
        return status === 401 || undefined
      })
    }
  }

  async #import(which: number): Promise<void> {
    const codes = Array.from({ length: 12 }, (_, index) => `C${String(index).padStart(2, '0')}`)
    const records = codes.map((occupationCode, index) => ({
      occupationCode,
      titleEnglish: `Title ${index === which % 12 ? `of import ${this.#world.imports} ` : ''}${occupationCode}`,
      minorGroups: [{ minorGroupRelationType: 'Primary' as const, minorGroup: { code: String(index % 3) } }],
    }))
    const before = new Map(this.#world.catalogue.map((record) => [record.occupationCode, record]))
    const { lastUpdatedDate } = await this.#first.import(records)
    this.#world.catalogue = records.map((record) => {
      const old = before.get(record.occupationCode)
      const date = old?.titleEnglish === record.titleEnglish ? old.lastUpdatedDate : lastUpdatedDate
      return { ...record, ...(date && { lastUpdatedDate: date }) }
    })
    this.#world.imports++
    await this.#refresh()
  }

  async #refresh(): Promise<void> {
    await Promise.all(this.#services.map(({ revisions }) => revisions.refresh()))
  }

  /** Publishes, and lets the model know as soon as it is done. */
  async #publish({ organisation, count, long, to, which, flaw }: Omit<Publishing, 'step'>): Promise<void> {
    const world = this.#world
    const eid = EIDS[organisation] ?? NEVER
    const mine = world.submissions.filter((each) => each.eid === eid)
    const others = world.submissions.filter((each) => each.eid !== eid)
    const stolen = flaw === "another organisation's token" ? others[which % others.length] : undefined
    const old = to === 'an own submission' ? mine[which % mine.length] : undefined
    const mark = world.mark()
    const token = stolen?.token ?? old?.token ?? (to === 'a new token' ? undefined : `token-${world.mark()}`)
    const returnId = old?.returnId ?? stolen?.returnId ?? `return-${world.mark()}`
    const entries = Array.from({ length: count }, (_, index) => ({
      localId: `${mark}-${index}`,
      errorCode: `E-${mark}`,
      errorDescription: `${'Text '.repeat(long ? 60 : 1)}of ${mark}, “āēīōū”`,
      errorType: 'Error',
      fileType: 'Learner',
      courseCode: mark,
      studentId: `S-${mark}`,
      recordText: `A|${mark}|B`,
    }))
    const values = flaw === 'an entry' ? [...entries, { localId: 5 }] : entries
    const publication = { eid, returnId, ...(token !== undefined && { token }) }
    if (flaw === 'an entry' || stolen !== undefined) {
      await expect(this.#first.publish(values, publication)).rejects.toThrow(InputRefused)
      this.#count('publishes refused')
      return
    }
    const { submissionToken } = await this.#first.publish(values, publication)
    const submission: Submission = {
      token: submissionToken,
      eid,
      returnId,
      run: (old?.run ?? 0) + 1,
      entries,
    }
    const place = old === undefined ? world.submissions.length : world.submissions.indexOf(old)
    world.submissions[place] = submission
    this.#count(old === undefined ? 'submissions published' : 'submissions published again')
  }

  /** Sends all of them at once; what happens meanwhile may show in an answer or not yet, but not in a part of it. */
  async #readAll(readings: readonly Reading[], meanwhile?: () => Promise<void>): Promise<void> {
    const questions = readings.map((reading) => ({ reading, question: this.#ask(reading) }))
    const predictAll = () =>
      questions.map(({ question }) => predict(this.#world, question, this.#publicOccupations))
    const before = predictAll()
    const answers = questions.map(({ reading, question }) =>
      askExactly(this.#ports[reading.replica] ?? 0, question.request),
    )
    await meanwhile?.()
    const received = await Promise.all(answers)
    const outcomes = meanwhile === undefined ? [before] : [before, predictAll()]
    for (const [index, answer] of received.entries()) {
      const question = questions[index]?.question
      const allowed = outcomes.flatMap((each) => each[index] ?? [])
      if (question !== undefined) this.#check(question, answer, allowed)
    }
    this.#checkLogs()
  }

  #check(question: Question, answer: ExactAnswer, outcomes: readonly Outcome[]): void {
    const failures: unknown[] = []
    for (const outcome of outcomes) {
      try {
        this.#assertOutcome(question, answer, outcome, outcomes.length === 1)
        this.#count(outcome.kind)
        return
      } catch (failure) {
        failures.push(failure)
      }
    }
    const { method, path, headers } = question.request
    throw new AggregateError(
      failures,
      `${failures.join('; ')}: ${method} ${path} ${JSON.stringify(headers)} is answered ${JSON.stringify(answer).slice(0, 1500)}, and should be ${JSON.stringify(outcomes).slice(0, 1500)}`,
    )
  }

  /** @param certain whether this outcome is the only one there can be: an empty run looks like another one */
  #assertOutcome(
    { request: { method }, operation }: Question,
    answer: ExactAnswer,
    outcome: Outcome,
    certain: boolean,
  ): void {
    const whole = JSON.stringify(answer)
    this.#assertNoSecret(whole)
    const bodyless = method === 'HEAD' || outcome.kind === 'not-modified'
    const body = bodyless ? '' : answer.body
    expect(answer.body).toBe(body)

    switch (outcome.kind) {
      case 'page': {
        expect(answer.status).toBe(200)
        if (!bodyless) expect(body).toBe(outcome.body)
        expect(headerOf(answer, 'content-type')).toBe('application/json; charset=utf-8')
        if (certain) this.#learnEtag(outcome.name, headerOf(answer, 'etag') ?? '')
        if (operation === 'results') expect(headerOf(answer, 'link')).toBe(outcome.link)
        expect(marksIn(JSON.stringify(answer.headers))).toEqual(marksIn(outcome.link ?? ''))
        return
      }
      case 'not-modified':
        expect(answer.status).toBe(304)
        if (certain) this.#learnEtag(outcome.name, headerOf(answer, 'etag') ?? '')
        expect(marksIn(whole)).toEqual([])
        return
      case 'refused':
        expect(answer.status).toBe(401)
        expect(marksIn(whole)).toEqual([])
        this.#assertLikeOthers(method, answer, outcome)
        return
      case 'problem': {
        expect(answer.status).toBe(outcome.status)
        expect(marksIn(JSON.stringify(answer.headers))).toEqual([])
        if (bodyless) return
        const { type, title, status, detail, instance, errors, ...members } = JSON.parse(body)
        expect(type).toBe(`/problems/${outcome.slug}`)
        expect(status).toBe(outcome.status)
        expect([typeof title, typeof detail]).toEqual(['string', 'string'])
        expect(instance).toBe(`urn:uuid:${headerOf(answer, 'x-request-id')}`)
        expect({ ...members, ...(errors && { errors: Object.keys(errors).sort() }) }).toEqual(outcome.members)
        expect(marksIn(JSON.stringify([title, detail, errors]))).toEqual([])
        return
      }
    }
  }

  /**
   * A refusal differs from every other one in nothing but its id, the date, the limit that it counts under, and for a
   * valid credential the sentence.
   */
  #assertLikeOthers(
    method: string,
    answer: ExactAnswer,
    { policy, detail: expected }: Extract<Outcome, { kind: 'refused' }>,
  ): void {
    const own = ['x-request-id', 'date', 'ratelimit', 'ratelimit-policy', 'content-length']
    const headers = answer.headers.map(([name, value]) => [name, own.includes(name) ? '' : value])
    const { instance, detail, ...problem } = answer.body === '' ? {} : JSON.parse(answer.body)
    if (answer.body !== '') {
      expect(instance).toBe(`urn:uuid:${headerOf(answer, 'x-request-id')}`)
      expect(detail.endsWith(expected)).toBe(true)
    }
    const shown = JSON.stringify({ headers, problem })
    const first = this.#refusals.get(method) ?? shown
    this.#refusals.set(method, first)
    expect(shown).toBe(first)
    const named = /^"([^"]*)"/.exec(headerOf(answer, 'ratelimit-policy') ?? '')?.[1]
    expect(named).toBe(this.#limited ? policy : undefined)
  }

  /** A page keeps its ETag as long as its run, in every replica, and shares it with no other page. */
  #learnEtag(name: string, etag: string): void {
    expect(etag).toMatch(/^W\/"[\w.]+-[\w-]{16}"$/)
    expect(this.#world.etags.get(name) ?? etag).toBe(etag)
    expect(this.#names.get(etag) ?? name).toBe(name)
    this.#world.etags.set(name, etag)
    this.#names.set(etag, name)
  }

  #assertNoSecret(text: string): void {
    expect(this.#secrets.filter((secret) => text.includes(secret))).toEqual([])
  }

  #checkLogs(): void {
    for (const { log } of this.#services) {
      const lines = log.splice(0)
      expect(lines.flatMap(marksIn)).toEqual([])
      this.#assertNoSecret(lines.join(''))
    }
  }

  /** Puts a request together. */
  #ask(reading: Reading): Question {
    const world = this.#world
    const pick = <T>(list: readonly T[]): T | undefined => list[reading.which % Math.max(1, list.length)]
    const submission = world.submissions[reading.submission % world.submissions.length]
    if (submission === undefined) throw new Error('the world begins with submissions')

    const fitting = world.credentials.filter(
      ({ eids, wrong, expires }) => eids.includes(submission.eid) && !wrong && Date.now() < expires,
    )
    const { sent, credential } = this.#choose(
      reading,
      pick(fitting) ?? pick(world.credentials),
      pick(world.credentials),
    )
    const known = credential === 'none' ? undefined : credential
    const { path, token } = this.#address(reading, submission)
    const eids = this.#chooseEids(reading, submission, known)
    const clientId = {
      missing: undefined,
      right: known?.client ?? 'client-0',
      'of another': 'client-9',
      empty: '',
    }[reading.client]
    const parameters = this.#parameters(reading)
    const condition = this.#condition(reading, submission)
    const headers = [
      ...sent,
      ...eids.map((eid) => ['EID', eid] as const),
      ...(clientId === undefined ? [] : [['X-Client-Id', clientId] as const]),
      ...(reading.version === undefined ? [] : [['x-api-version', reading.version] as const]),
      ...(condition.length === 0 ? [] : [['If-None-Match', condition.join(', ')] as const]),
      ...(reading.encoding === undefined ? [] : [['Accept-Encoding', reading.encoding] as const]),
      ...(reading.accept === undefined ? [] : [['Accept', reading.accept] as const]),
    ]
    const query = parameters.map(([name, value]) => `${name}=${value}`).join('&')
    return {
      request: { method: reading.method, path: query === '' ? path : `${path}?${query}`, headers },
      operation: reading.operation,
      supported: reading.version === undefined ? reading.prefix !== '/v9' : reading.version === '1',
      credential,
      clientId,
      eid: eids.length === 1 ? eids[0] : undefined,
      token,
      acceptsJson: reading.accept !== 'text/html',
      parameters,
      condition,
    }
  }

  #choose(
    { credential: way, bearer }: Reading,
    fitting: Credential | undefined,
    any: Credential | undefined,
  ): { sent: (readonly [string, string])[]; credential: Credential | 'none' | undefined } {
    const asKey = (text: string) => [
      bearer ? (['Authorization', `Bearer ${text}`] as const) : (['X-API-Key', text] as const),
    ]
    const asWhatItIs = (credential: Credential) => ({
      sent:
        credential.kind === 'jwt'
          ? [['Authorization', `Bearer ${credential.text}`] as const]
          : asKey(credential.text),
      credential,
    })
    const secret = 'A'.repeat(43)
    if (way === 'none' || fitting === undefined || any === undefined) return { sent: [], credential: 'none' }
    switch (way) {
      case 'fitting':
        return asWhatItIs(fitting)
      case 'any':
        return asWhatItIs(any)
      case 'unknown':
        return { sent: asKey(`mahi_0123456789ab_${secret}`), credential: undefined }
      case 'of another secret':
        return { sent: asKey(`${any.id ?? 'mahi_0123456789ab'}_${secret}`), credential: undefined }
      case 'malformed':
        return { sent: asKey(bearer ? 'a.b' : `${fitting.text}x`), credential: undefined }
      case 'two of them':
        // X-API-Key counts, and a JWT is none.
        return {
          sent: [
            ['Authorization', `Bearer ${fitting.text}`],
            ['X-API-Key', any.text],
          ],
          credential: any.kind === 'key' ? any : undefined,
        }
    }
  }

  #address(
    { prefix, operation, token: way }: Reading,
    { token }: Submission,
  ): { path: string; token: string } {
    if (operation === 'occupations') return { path: `${prefix}/occupations`, token: '' }
    const written = {
      own: token,
      'percent-encoded': `%${token.charCodeAt(0).toString(16)}${token.slice(1)}`,
      'never existed': 'token-that-never-existed',
      longer: `${token}x`,
      'in other letters': token.toUpperCase(),
      malformed: `%20'or'1'='1%00${token}`,
    }[way]
    return { path: `${prefix}/submissions/${written}/validation-results`, token: decodeURIComponent(written) }
  }

  #chooseEids(
    { eid: way, which }: Reading,
    { eid }: Submission,
    credential: Credential | undefined,
  ): string[] {
    const any = EIDS[which % EIDS.length] ?? NEVER
    switch (way) {
      case "the submission's":
        return [eid]
      case "the credential's":
        return [credential?.eids[0] ?? any]
      case 'any':
        return [any]
      case 'never existed':
        return [NEVER]
      case 'missing':
        return []
      case 'empty':
        return ['']
      case 'twice':
        return [eid, eid]
      case 'two of them':
        return [eid, any]
    }
  }

  #parameters({ operation, page, pageSize, also, filter }: Reading): [string, string][] {
    const given =
      operation === 'occupations'
        ? Object.entries(filter)
        : [['page', page] as const, ['pageSize', pageSize] as const, ...(also === undefined ? [] : [also])]
    return given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  }

  /** ETags that have been seen: of this submission, of others, of runs that are no more. */
  #condition({ condition: way, which }: Reading, { token, run }: Submission): string[] {
    const { etags } = this.#world
    const all = [...etags.values()]
    const matching = [...etags]
      .filter(([name]) => name.startsWith(`${token} ${run} `))
      .map(([, etag]) => etag)
    switch (way) {
      case 'none':
        return []
      case 'this page':
        return matching
      case 'other pages':
        return all.length === 0 ? [] : [all[which % all.length] ?? '']
      case 'all pages':
        return all.slice(-60)
      case 'anything':
        return ['*']
    }
  }
}
