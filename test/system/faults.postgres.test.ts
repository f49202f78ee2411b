import { expect, onTestFinished, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, toLines, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'

/** Reads reach the database each time, as no page is kept. */
const UNCACHED = { ...UNLIMITED, PAGE_CACHE_MB: '0', LOG_LEVEL: 'info' }

test.skipIf(!hasCluster)(
  'a PostgreSQL that is killed under load costs nothing but 503s, and nothing acknowledged',
  async () => {
    const cluster = await Cluster.start()
    onTestFinished(() => cluster.remove())
    const mahi = new Installation({ inProcesses: true })
    const DATABASE_URL = await cluster.createDatabase('killed')
    const { questions, headers } = await fillDatabase(DATABASE_URL)
    const { url } = await mahi.serve({ ...UNCACHED, DATABASE_URL })
    const load = new Load([url], questions, { check: checkPage })
    const writing = new Writing(mahi, DATABASE_URL)

    await writing.untilMore(2)
    await cluster.kill()
    await load.untilMore('unavailable', 50)
    await cluster.start()
    await load.untilMore('ok', 200)
    await writing.untilMore(2)
    const { codes, tokens, refused } = await writing.stop()
    const counts = await load.stop()

    expect(counts.otherwise).toEqual([])
    for (const code of codes) {
      const { body } = await ask(`${url}/v1/occupations?Limit=1&Cursor=${code}`, headers)
      expect(JSON.parse(body).data).toMatchObject([{ occupationCode: code }])
    }
    for (const { token, localId } of tokens) {
      const { body } = await ask(`${url}/v1/submissions/${token}/validation-results`, headers)
      expect(JSON.parse(body).results).toMatchObject([{ localId }])
    }
    // Each says so in one line, in the operator's terms.
    for (const line of refused) expect(line).toMatch(/^postgres:\/\/[^\n]+\n$/)
  },
)

/** Imports and publishes by real commands, one after the other, and what they acknowledged. */
class Writing {
  readonly #mahi: Installation
  readonly #environment: Record<string, string>
  readonly #codes: string[] = []
  readonly #tokens: { token: string; localId: string }[] = []
  readonly #refused: string[] = []
  readonly #loops: Promise<void>[]
  #stopping = false

  constructor(mahi: Installation, DATABASE_URL: string) {
    this.#mahi = mahi
    this.#environment = { DATABASE_URL }
    this.#loops = [this.#import(), this.#publish()]
  }

  /** Waits until so many more of each have been acknowledged. */
  async untilMore(count: number): Promise<void> {
    const [codes, tokens] = [this.#codes.length, this.#tokens.length]
    await until(() =>
      this.#codes.length >= codes + count && this.#tokens.length >= tokens + count ? true : undefined,
    )
  }

  async stop() {
    this.#stopping = true
    await Promise.all(this.#loops)
    return { codes: this.#codes, tokens: this.#tokens, refused: this.#refused }
  }

  async #import(): Promise<void> {
    for (let number = 0; !this.#stopping; number++) {
      const code = `N${number}`
      const done = await this.#run(['occupations', 'import', '-'], { occupationCode: code })
      if (done !== undefined) this.#codes.push(code)
    }
  }

  async #publish(): Promise<void> {
    for (let number = 0; !this.#stopping; number++) {
      const localId = `N${number}`
      const parameters = ['results', 'publish', '--eid', '1001', '--return', 'R1', '-']
      const token = await this.#run(parameters, { localId })
      if (token !== undefined) this.#tokens.push({ token, localId })
    }
  }

  /** What an acknowledged command printed. */
  async #run(parameters: readonly string[], record: unknown): Promise<string | undefined> {
    const { code, stdout, stderr } = await this.#mahi.run(parameters, {
      input: toLines([record]),
      environment: this.#environment,
    })
    if (code === 0) return stdout.trim()
    this.#refused.push(stderr)
    return undefined
  }
}
