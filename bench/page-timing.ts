import type { Page } from 'playwright-core'
import { median } from './measure.ts'

/** In milliseconds and bytes. */
export interface PageTiming {
  /** From the request to the last byte. */
  readonly response: number
  /** From the last byte to the first paint. */
  readonly paint: number
  /** From the last byte to the end of loading. */
  readonly loaded: number
  /** Of the compressed page. */
  readonly bytes: number
  readonly requests: number
}

/** Opens a page several times, and returns the medians of the browser's own measurements. */
export async function timePage(page: Page, url: string, rounds: number): Promise<PageTiming> {
  const timings: PageTiming[] = []
  for (let round = 0; round < rounds; round++) timings.push(await timeOnce(page, url))
  const middle = (read: (timing: PageTiming) => number) => median(timings.map(read))
  return {
    response: middle(({ response }) => response),
    paint: middle(({ paint }) => paint),
    loaded: middle(({ loaded }) => loaded),
    bytes: middle(({ bytes }) => bytes),
    requests: middle(({ requests }) => requests),
  }
}

async function timeOnce(page: Page, url: string): Promise<PageTiming> {
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
