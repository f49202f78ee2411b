import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { findFreePort } from './free-port.ts'
import { SDR_FILES } from './sdr/file-types.ts'

const MAHI = fileURLToPath(new URL('../../bin/mahi.js', import.meta.url))

/** Starts a separate demo, opens its console in a browser by the link that it prints, and ends both afterwards. */
export async function withDemoPage(work: (page: Page, origin: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-demo-'))
  const demo = spawn(process.execPath, [MAHI, 'demo'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: String(await findFreePort()) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const browser = await startBrowser()
  try {
    const link = await new Promise<string>((resolve, reject) => {
      createInterface({ input: demo.stdout }).on('line', (line) => {
        const found = /http\S+\/console\/link\/\S+/.exec(line)?.[0]
        if (found !== undefined) resolve(found)
      })
      demo.once('exit', () => reject(new Error('the demo ended before it printed a link')))
    })
    const { origin } = new URL(link)
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 } })
    await page.goto(link)
    await page.waitForURL(/\/console\/submissions\/[\w-]+\/findings/, { timeout: 120_000 })
    await work(page, origin)
  } finally {
    await browser.close()
    demo.kill('SIGTERM')
    await once(demo, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sends the faulty samples again to the submission of the demo, and waits for the page with its findings. */
export async function sendSamples(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/console/submissions`)
  await page.getByLabel('Return, such as').fill('202512')
  await page.getByRole('button', { name: 'Start a submission' }).click()
  // The demo has checked its own files before.
  await page.getByRole('link', { name: /^Files/ }).click()
  const samples = SDR_FILES.map((file) =>
    fileURLToPath(new URL(`../../samples/sdr/faulty/${file}.csv`, import.meta.url)),
  )
  await page.locator('input[multiple]').setInputFiles(samples)
  await page.getByRole('button', { name: 'Send 5 files' }).click()
  await page.waitForURL(/\/check/)
  await page.waitForURL(/\/findings\?/, { timeout: 120_000 })
}
