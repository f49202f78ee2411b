import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { SCOPES } from '../../src/api/access/principal.ts'
import { deriveToken, TOKEN_FIELD } from '../../src/console/form-token.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { PACKAGE_ROOT } from '../../src/foundation/package/root.ts'
import { SDR_FILES } from '../../test/support/sdr/file-types.ts'

const EID = '2001'
/** The return of the samples. */
const RETURN = '202512'
/** Within the size of generated catalogues. */
const PAGES = [
  '/console/occupations?q=manage+records',
  '/console/occupations/O0000000',
  '/console/submissions',
  '/console/rules',
]

/** What an organisation and a person at the console do, again and again: one sends returns, the other reads. */
export class Visits {
  /** How many of each ended well. */
  readonly done: Record<string, number> = {}
  readonly failures: string[] = []
  readonly #url: string
  readonly #key: string
  readonly #client: Client

  private constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
    this.#client = createClient({ baseUrl: url, apiKey: key, eid: EID })
  }

  static async begin(url: string, databaseUrl: string): Promise<Visits> {
    const database = await openDatabase(databaseUrl)
    const expires = Date.now() + 86_400_000
    const { key } = await createKey(database, { client: 'visitor', scopes: SCOPES, eids: [EID], expires })
    await database.close()
    return new Visits(url, key)
  }

  async round(): Promise<void> {
    await Promise.all([
      this.#note('return', () => this.#sendReturn()),
      this.#note('session', () => this.#visitConsole()),
    ])
  }

  async #note(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.done[name] = (this.done[name] ?? 0) + 1
    } catch (error) {
      this.failures.push(`${name}: ${error}`)
    }
  }

  /** Sends files with faults, then without; the submission is cancelled, so that the database has no reason to grow. */
  async #sendReturn(): Promise<void> {
    const { submissions, validationResults } = this.#client
    const { submissionToken: token = '' } = await submissions.create({ returnId: RETURN })
    for (const set of ['faulty', 'clean'] as const) {
      for (const file of SDR_FILES)
        await submissions.putFile(
          token,
          file,
          readFileSync(new URL(`samples/sdr/${set}/${file}.csv`, PACKAGE_ROOT)),
        )
      const { runId = 0 } = await submissions.validate(token)
      const run = await submissions.waitForRun(token, runId)
      if (run.status !== 'Processed') throw new Error(`a run ended as ${run.status}: ${run.reason}`)
      const { totalCount } = await validationResults.page(token, { pageSize: 100 })
      if ((totalCount === 0) !== (set === 'clean'))
        throw new Error(`${set} files have ${totalCount} findings`)
    }
    await submissions.changes(token, { from: 1 })
    await submissions.delete(token)
  }

  /** Signs in with a key, looks at pages and signs out. */
  async #visitConsole(): Promise<void> {
    const send = async (
      path: string,
      cookie: string,
      form?: Record<string, string>,
      attempts = 30,
    ): Promise<Response> => {
      const response = await fetch(this.#url + path, {
        method: form === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: { cookie, origin: this.#url },
        ...(form !== undefined && { body: new URLSearchParams(form) }),
      })
      await response.arrayBuffer()
      // Turned away for want of time, which has a rule of its own: a person tries again.
      if (response.status === 503 && attempts > 1) {
        await sleep(1_000)
        return await send(path, cookie, form, attempts - 1)
      }
      const expected = form === undefined ? 200 : 303
      if (response.status !== expected) throw new Error(`${path}: ${response.status}`)
      return response
    }
    const signedIn = await send('/console/sign-in', '', { key: this.#key })
    const cookie = signedIn.headers.getSetCookie().find((each) => each.startsWith('mahi-session='))
    if (cookie === undefined) throw new Error('signing in set no cookie')
    const session = cookie.split(';')[0] ?? ''
    for (const path of PAGES) await send(path, session)
    const [, secret = ''] = session.split('=')
    await send('/console/sign-out', session, { [TOKEN_FIELD]: deriveToken(secret) })
    const response = await fetch(`${this.#url}/console/submissions`, {
      headers: { cookie: session },
      redirect: 'manual',
    })
    await response.arrayBuffer()
    if (response.status === 200) throw new Error('the session outlives signing out')
  }
}
