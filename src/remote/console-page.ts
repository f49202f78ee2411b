import { dropEnd } from '../foundation/text/drop-end.ts'

/** How long the start page may take: the result of the command does not depend on it. */
const PATIENCE = 5_000

/** The most characters of a start page that are read. */
const MOST = 16_384

/** The page of a submission in the console, if the start page of the service says that it has one. */
export async function findConsolePage(url: string, token: string, eid: string): Promise<string | undefined> {
  const base = dropEnd(url, (character) => character === '/')
  try {
    const response = await fetch(`${base}/`, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE),
    })
    const { home } = JSON.parse(await readStart(response)) as { home?: unknown }
    return home === '/console'
      ? `${base}/console/submissions/${encodeURIComponent(token)}?eid=${encodeURIComponent(eid)}`
      : undefined
  } catch {
    return undefined
  }
}

/** The start of a text: what is longer is not the page that is looked for, and does not parse. */
async function readStart({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (text.length > MOST) break
  }
  return text
}
