// Creates the pictures of docs/console.md from a separate demo: `npm run screenshots`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withDemoPage } from './demo-page.ts'

const images = fileURLToPath(new URL('../../docs/images/', import.meta.url))
mkdirSync(images, { recursive: true })

await withDemoPage(async (page, origin) => {
  const shoot = (name: string) => page.screenshot({ path: join(images, `${name}.png`) })
  await page.goto(`${origin}/console/occupations?q=kaiako`)
  await shoot('occupations')
  await page.goto(`${origin}/console/submissions`)
  await page.locator('tbody th a').first().click()
  await page.getByText('Mahi looks for what it can repair.').waitFor({ state: 'hidden' })
  await shoot('findings')
  await page.locator('.causes h2 a').nth(2).click()
  await shoot('records')
})
