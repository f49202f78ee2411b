import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryLimiter } from '../src/api/access/limits.ts'
import { normaliseAddress } from '../src/api/request/caller.ts'
import { NO_LIMITS } from './support/limits.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

describe('the address of a caller', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:4711', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:DB8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
    ['2001:0db8:0000::9', '2001:db8:0:0::/64'],
    ['[2001:db8::1]:443', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['unknown', ''],
    ['', ''],
  ])('%s is counted as %s', (text, address) => {
    expect(normaliseAddress(text)).toBe(address)
  })

  test('every spelling of one IPv6 address is counted as one', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const plain = groups.map((each) => each.toString(16)).join(':')
        const padded = groups.map((each) => each.toString(16).padStart(4, '0').toUpperCase()).join(':')
        const [, short = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${plain}]/`).hostname) ?? []
        const expected = normaliseAddress(plain)
        expect(normaliseAddress(padded)).toBe(expected)
        expect(normaliseAddress(short)).toBe(expected)
      }),
      cases(100),
    )
  })
})

test('the seconds until a window ends are never more than its length, however the clock is set', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
  await fc.assert(
    fc.asyncProperty(time, time, fc.integer({ min: 1, max: 999_999 }), async (first, second, seconds) => {
      const limit = { requests: 9, seconds }
      const consume = createMemoryLimiter({ ...NO_LIMITS, occupations: limit })
      for (const now of [first, second]) {
        vi.setSystemTime(now)
        const { reset = 0 } = (await consume('occupations', 'a')) ?? {}
        expect(reset).toBeGreaterThanOrEqual(1)
        expect(reset).toBeLessThanOrEqual(seconds)
      }
    }),
    cases(100),
  )
})

test('a client whose name has macrons can name itself, in UTF-8', async () => {
  const service = await Service.start()
  const { key } = await service.createKey({ client: 'Te Pūkenga' })
  // As Node reads the bytes of a header.
  const header = Buffer.from('Te Pūkenga').toString('latin1')
  for (const [named, status] of [
    [header, 200],
    [Buffer.from('Te Pu\u0304kenga').toString('latin1'), 200],
    ['Te Pukenga', 401],
  ] as const) {
    const response = await service.get('/v1/occupations', { 'x-api-key': key, 'x-client-id': named })
    expect([named, response.statusCode]).toEqual([named, status])
  }
})
