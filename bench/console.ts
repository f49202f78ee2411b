// Times the pages of the console in Chromium, by the browser's own measurement: `node bench/console.ts [--rounds 9]`.
// The time to display is from the last byte of the response to the first paint and to the end of loading, on loopback.
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { sendSamples, withDemoPage } from '../test/support/demo-page.ts'
import { assertIdle } from './idle.ts'
import { median } from './measure.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })

assertIdle('A table of these times')
await withDemoPage(async (page, origin) => {
  await sendSamples(page, origin)
  const findings = page.url()
  const pages = [
    ['occupations', `${origin}/console/occupations`],
    ['search', `${origin}/console/occupations?q=kaiako`],
    ['occupation', await linkOn(page, `${origin}/console/occupations`, '.results a')],
    ['submissions', `${origin}/console/submissions`],
    ['findings', findings],
    ['rules', `${origin}/console/rules`],
  ] as const
  const line = (...cells: readonly (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)
  line('page', 'response ms', 'first paint ms', 'loaded ms', 'compressed KB', 'requests')
  line('---', '--:', '--:', '--:', '--:', '--:')
  for (const [name, url] of pages) {
    const rounds: Timing[] = []
    for (let round = 0; round < Number(values.rounds); round++) rounds.push(await time(page, url))
    const middle = (read: (timing: Timing) => number) => median(rounds.map(read)).toFixed(0)
    line(
      name,
      middle(({ response }) => response),
      middle(({ paint }) => paint),
      middle(({ loaded }) => loaded),
      (median(rounds.map(({ bytes }) => bytes)) / 1000).toFixed(1),
      middle(({ requests }) => requests),
    )
  }
})

interface Timing {
  /** From the request to the last byte, then from there to the first paint and to the end of loading, in ms. */
  readonly response: number
  readonly paint: number
  readonly loaded: number
  readonly bytes: number
  readonly requests: number
}

async function time(page: Page, url: string): Promise<Timing> {
  await page.goto(url, { waitUntil: 'load' })
  await page.waitForFunction(() => performance.getEntriesByType('paint').length > 0)
  return await page.evaluate(() => {
    const [entry] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    if (entry === undefined) throw new Error('the browser has measured no navigation')
    const { requestStart, responseEnd, loadEventEnd, encodedBodySize } = entry
    return {
      response: responseEnd - requestStart,
      paint: (performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0) - responseEnd,
      loaded: loadEventEnd - responseEnd,
      bytes: encodedBodySize,
      requests: 1 + performance.getEntriesByType('resource').length,
    }
  })
}

async function linkOn(page: Page, url: string, selector: string): Promise<string> {
  await page.goto(url)
  return new URL((await page.locator(selector).first().getAttribute('href')) ?? '', url).href
}
