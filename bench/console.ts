// Times the pages of the console in Chromium, by the browser's own measurement: `node bench/console.ts [--rounds 9]`.
// The time to display is from the last byte of the response to the first paint and to the end of loading, on loopback.
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { sendSamples, withDemoPage } from '../test/support/demo-page.ts'
import { assertIdle } from './measure.ts'
import { timePage } from './page-timing.ts'

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
    const { response, paint, loaded, bytes, requests } = await timePage(page, url, Number(values.rounds))
    const times = [response, paint, loaded].map((each) => each.toFixed(0))
    line(name, ...times, (bytes / 1000).toFixed(1), requests)
  }
})

async function linkOn(page: Page, url: string, selector: string): Promise<string> {
  await page.goto(url)
  return new URL((await page.locator(selector).first().getAttribute('href')) ?? '', url).href
}
