import { describe, expect, test } from 'vitest'
import { Audit, type Refusal } from '../src/api/access/audit.ts'
import { Installation, until } from './support/command.ts'
import { Issuer } from './support/jwks.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'

/** The audit lines of a service, without what every line has. */
function auditOf({ log }: Service): Record<string, unknown>[] {
  return log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ audit }) => audit !== undefined)
    .map(({ level, time, ...rest }) => rest)
}

describe('a refusal is logged with its reason, which a caller without a valid credential does not see', () => {
  test('for every way in which a credential can be wrong', async () => {
    const issuer = await Issuer.start()
    const jwt = await issuer.sign(await issuer.addKey(), { aud: 'somebody else' })
    const service = await Service.start(issuer.settings)
    const expired = await service.createKey({ client: 'late', expires: Date.now() - 1 })
    const narrow = await service.createKey({
      client: 'narrow',
      scopes: ['validation-results:read'],
      eids: ['1001'],
    })
    const foreign = await service.createKey({ client: 'foreign', eids: ['2002'] })
    await service.publish([], { token: 'submission-0001' })
    const own = service.key.slice(0, 'mahi_0123456789ab'.length)
    const keyed = ({ id, client }: { id: string; client: string }) => ({ key: id, client })
    const tests = keyed({ id: own, client: 'tests' })
    const cases: [reason: string, Record<string, string>, Record<string, string>, string?][] = [
      ['missing', {}, {}],
      ['unknown', { 'x-api-key': 'wrong' }, {}],
      ['secret', { 'x-api-key': `${own}_${'A'.repeat(43)}` }, tests],
      ['expired', { 'x-api-key': expired.key }, keyed(expired)],
      ['jwt', { authorization: `Bearer ${jwt}` }, {}],
      ['client', { 'x-api-key': service.key, 'x-client-id': 'other' }, tests],
      ['scope', { 'x-api-key': narrow.key }, keyed(narrow)],
      ['submission', { 'x-api-key': foreign.key, eid: '1001' }, keyed(foreign), RESULTS],
    ]
    await until(() => auditOf(service).length >= 3 || undefined)
    const bodies = new Set<string>()
    for (const [reason, headers, of, url = '/v1/occupations'] of cases) {
      service.log.length = 0
      const response = await service.request({ url, headers })
      expect([reason, response.statusCode]).toEqual([reason, 401])
      // Only the holder of a valid credential is told.
      if (reason !== 'scope' && reason !== 'submission')
        bodies.add(response.body.replace(/urn:uuid:[\w-]+/, ''))
      const operation = url === RESULTS ? 'validation-results' : 'occupations'
      expect(auditOf(service)).toEqual([{ audit: 'refused', reason, operation, address: '127.0.0.1', ...of }])
    }
    expect(bodies.size).toBe(1)
  })

  test('and none is written without a refusal', async () => {
    const service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
    await until(() => auditOf(service).length >= 1 || undefined)
    service.log.length = 0
    await service.request({ url: '/v1/occupations' })
    await service.get('/v1/occupations')
    await service.get('/v1/occupations?Limit=0')
    await service.request({ url: '/livez' })
    expect(auditOf(service)).toEqual([])
  })
})

describe('a flood of refusals does not flood the log', () => {
  const REFUSAL: Refusal = { reason: 'unknown', operation: 'occupations', address: '192.0.2.1' }

  function collect() {
    const lines: Record<string, unknown>[] = []
    const audit = new Audit({
      warn: (line: unknown) => void lines.push(line as Record<string, unknown>),
    } as never)
    return { audit, lines }
  }

  test('the first of similar refusals is written at once, the number of others later', () => {
    const { audit, lines } = collect()
    for (let index = 0; index < 10_000; index++) audit.refused(REFUSAL)
    expect(lines).toEqual([{ audit: 'refused', ...REFUSAL }])
    audit.stop()
    expect(lines.slice(1)).toEqual([{ audit: 'refused', ...REFUSAL, times: 9_999 }])
  })

  test('different refusals have separate lines, up to a limit that no caller can exceed', () => {
    const { audit, lines } = collect()
    for (let index = 0; index < 10_000; index++) audit.refused({ ...REFUSAL, address: `198.51.100.${index}` })
    expect(lines.length).toBe(200)
    audit.stop()
    expect(lines.slice(200)).toEqual([{ audit: 'refused', reason: 'various', times: 9_800 }])
  })
})

describe('creating or revoking a key is logged', () => {
  test('on the standard error of the command, and in the log of every service that runs', async () => {
    const mahi = new Installation()
    const services = [await Service.start({}, mahi.databaseUrl), await Service.start({}, mahi.databaseUrl)]
    const made = await mahi.run(['keys', 'create', '--client', 'vendor', '--eid', '1001', '--json'])
    const { id, key, expires } = JSON.parse(made.stdout) as Record<'id' | 'key' | 'expires', string>
    const revoked = await mahi.run(['keys', 'revoke', key])
    const again = await mahi.run(['keys', 'revoke', id])

    const change = { key: id, client: 'vendor', expires }
    const lineOf = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
    const common = { level: 'warn', time: expect.stringMatching(/^2\d{3}-.*Z$/), by: expect.any(String) }
    expect(lineOf(made.stderr)).toEqual({ ...common, audit: 'made', ...change })
    expect(lineOf(revoked.stderr)).toEqual({ ...common, audit: 'revoked', ...change })
    // To revoke it again changes nothing.
    expect([again.code, again.stderr]).toEqual([0, `Key ${id} is revoked.\n`])
    for (const service of services) {
      const lines = () => auditOf(service).filter((line) => line.key === id)
      await until(() => lines().length >= 2 || undefined)
      expect(lines()).toEqual([
        { audit: 'made', ...change },
        { audit: 'revoked', ...change },
      ])
    }
    const secret = key.slice(id.length)
    const all = [...services.flatMap(({ log }) => log), made.stderr, revoked.stdout, revoked.stderr].join('')
    expect(all).not.toContain(secret)
  })

  test('and there is none for keys that were there before the service', async () => {
    const mahi = new Installation()
    const { id } = (await mahi.runJson(['keys', 'create', '--client', 'early'])) as { id: string }
    const service = await Service.start({}, mahi.databaseUrl)
    await mahi.runJson(['keys', 'revoke', id])
    await until(() => auditOf(service).some(({ key }) => key === id) || undefined)
    expect(auditOf(service).filter(({ key }) => key === id)).toMatchObject([{ audit: 'revoked' }])
  })
})
