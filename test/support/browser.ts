import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Where this machine's Chromium is, if it has one. */
export const chromiumPath = CANDIDATES.find((path) => existsSync(path))

if (chromiumPath === undefined) {
  if (process.env.CI === 'true') throw new Error('with CI=true the tests need Chromium (Debian: chromium)')
  process.stderr.write('SKIPPED: the tests in a browser: there is no Chromium on this machine\n')
}

/** Starts a browser that talks to nobody but the pages it is given. */
export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
