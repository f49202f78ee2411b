import { expect, test } from 'vitest'
import { countWork } from './support/counted-work.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'

/** Parts of texts that are worst for a reader that looks ahead, or looks at each part again. */
const PARTS = ['/', ',', '"a,', 'a;b=",', 'a=&', '%2f', 'W/"c1.', '[']

/** The longest text of URLs and headers that Node.js accepts. */
const LONGEST = 16 * 1024

test('texts of URLs and headers are looked at a bounded number of times', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public', CONSOLE: 'on' })
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const [list, found, console] = ['/v1/occupations', `${RESULTS}?pageSize=1`, '/console/submissions']
  const urls = ['/', '/v1/occupations/', `${list}?Limit=`, `${list}/search?q=`, `${list}/changes?Since=`]
  const headers: readonly (readonly [string, string])[] = [
    ...['accept', 'accept-encoding', 'if-none-match', 'x-api-version', 'x-forwarded-for'].map(
      (name) => [name, list] as const,
    ),
    ...['authorization', 'x-client-id', 'content-type', 'host'].map((name) => [name, list] as const),
    ...['accept', 'eid', 'prefer'].map((name) => [name, found] as const),
    ['cookie', console],
  ]
  const caller = { 'x-api-key': service.key, eid: '1001' }
  const ask = async (url: string, more: Record<string, string> = {}) => {
    const options = { url, headers: { ...caller, ...more } }
    // Whatever is done once has been.
    await service.app.inject(options)
    const { total } = await countWork(() => service.app.inject(options))
    return total
  }
  for (const part of PARTS) {
    const text = `${part.repeat(Math.floor((LONGEST - 200) / part.length))}x`
    for (const start of [...urls, `${RESULTS}?Filter.ErrorCode=`, '/console/link/'])
      expect([part, start, (await ask(start + text)) < 100 * LONGEST]).toEqual([part, start, true])
    for (const [name, url] of headers) {
      const value = name === 'authorization' ? `Bearer ${text}` : text
      expect([part, name, (await ask(url, { [name]: value })) < 100 * LONGEST]).toEqual([part, name, true])
    }
  }
})
