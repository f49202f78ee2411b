// Makes the pictures of docs/console.md from a demo of its own: `npm run screenshots`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startBrowser } from './browser.ts'
import { findFreePort } from './free-port.ts'

const root = new URL('../../', import.meta.url)
const images = fileURLToPath(new URL('docs/images/', root))
const FILES = ['learners', 'courses', 'enrolments', 'course-completions', 'qualification-completions']

const folder = mkdtempSync(join(tmpdir(), 'mahi-screenshots-'))
const demo = spawn(process.execPath, [fileURLToPath(new URL('bin/mahi.js', root)), 'demo'], {
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
  mkdirSync(images, { recursive: true })
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } })
  const shoot = (name: string) => page.screenshot({ path: join(images, `${name}.png`) })
  await page.goto(link)
  await page.waitForURL(`${origin}/console/occupations`, { timeout: 120_000 })
  await page.goto(`${origin}/console/occupations?q=kaiako`)
  await shoot('occupations')
  await page.goto(`${origin}/console/submissions`)
  await page.getByLabel('Return').fill('202512')
  await page.getByRole('button', { name: 'Start a submission' }).click()
  for (const file of FILES) {
    const path = fileURLToPath(new URL(`samples/sdr/faulty/${file}.csv`, root))
    await page.locator(`input[name="${file}"]`).setInputFiles(path)
  }
  await page.getByRole('button', { name: 'Send the files' }).click()
  await page.getByRole('link', { name: 'See the findings' }).click()
  await shoot('findings')
} finally {
  await browser.close()
  demo.kill('SIGTERM')
  await once(demo, 'exit')
  rmSync(folder, { recursive: true, force: true })
}
