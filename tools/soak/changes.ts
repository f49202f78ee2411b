import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { generateFindings, generateOccupations } from '../../bench/data.ts'
import type { Place } from '../../bench/empty-database.ts'
import { EID, MAHI } from '../../bench/mahi.ts'
import { createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { SCOPES } from '../../src/api/access/principal.ts'
import { deriveToken, TOKEN_FIELD } from '../../src/console/form-token.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { PACKAGE_ROOT } from '../../src/foundation/package/root.ts'
import { SDR_FILES } from '../../test/support/sdr/file-types.ts'

export interface Sizes {
  readonly records: number
  /** Published again in turn, so that the database has no reason to grow. */
  readonly submissions: number
  /** Of each submission. */
  readonly findings: number
}

export const tokenOf = (index: number) => `soak-submission-${index}`

const VISITOR = '2001'
/** The return of the samples. */
const RETURN = '202512'
/** Within the size of generated catalogues. */
const PAGES = ['occupations?q=manage+records', 'occupations/O0000000', 'submissions', 'rules']

/** What changes the database while it is read: commands, one after the other, and a return with a session beside them. */
export class Changes {
  /** How many of each have ended well. */
  readonly done: Record<string, number> = {}
  readonly failures: string[] = []
  /** A valid key, another one after each fourth round. */
  key = ''
  readonly #place: Place
  readonly #records: readonly Record<string, unknown>[]
  readonly #sizes: Sizes
  #keyId = ''
  #round = 0
  #visitor = ''

  private constructor(place: Place, records: readonly Record<string, unknown>[], sizes: Sizes) {
    this.#place = place
    this.#records = records
    this.#sizes = sizes
  }

  /** Fills the database. */
  static async begin(place: Place, sizes: Sizes): Promise<Changes> {
    const records: Record<string, unknown>[] = []
    for await (const { value } of generateOccupations(sizes.records)) {
      const { lastUpdatedDate: _, ...record } = value as Record<string, unknown>
      records.push(record)
    }
    const findings: string[] = []
    for await (const { value } of generateFindings(sizes.findings)) findings.push(JSON.stringify(value))
    writeFileSync(join(place.folder, 'findings.ndjson'), `${findings.join('\n')}\n`)
    const changes = new Changes(place, records, sizes)
    await changes.#import(0)
    for (let index = 0; index < sizes.submissions; index++) await changes.#publish(index)
    await changes.#changeKey()
    if (changes.failures.length > 0) throw new Error(changes.failures.join('\n'))
    const database = await openDatabase(place.commandUrl)
    const options = { client: 'visitor', scopes: SCOPES, eids: [VISITOR], expires: Date.now() + 86_400_000 }
    changes.#visitor = (await createKey(database, options)).key
    await database.close()
    return changes
  }

  async round(url: string): Promise<void> {
    this.#round++
    await Promise.all([
      this.#changeData(),
      this.#note('return', () => this.#sendReturn(url)),
      this.#note('session', () => this.#visitConsole(url)),
    ])
  }

  async #changeData(): Promise<void> {
    await this.#import(this.#round)
    await this.#publish(this.#round % this.#sizes.submissions)
    if (this.#round % 4 === 0) await this.#changeKey()
  }

  /** Every round changes one record in twenty; every second one takes some away, and the next brings them back. */
  async #import(round: number): Promise<void> {
    const lines = this.#records.flatMap((record, index) => {
      if (round % 2 === 1 && index % 100 === 99) return []
      return JSON.stringify({ ...record, trainingDuration: `${Math.floor((round + index) / 20)} months` })
    })
    writeFileSync(join(this.#place.folder, 'occupations.ndjson'), `${lines.join('\n')}\n`)
    await this.#run('import', 'occupations', 'import', '--replace', 'occupations.ndjson')
  }

  async #publish(index: number): Promise<void> {
    const names = ['--eid', EID, '--return', `R${index}`, '--token', tokenOf(index)]
    await this.#run('publish', 'results', 'publish', ...names, 'findings.ndjson')
  }

  async #changeKey(): Promise<void> {
    const before = this.#keyId
    const created = await this.#run('key', 'keys', 'create', '--client', 'soak', '--eid', EID)
    if (created === '') return
    const { id, key } = JSON.parse(created) as { id: string; key: string }
    this.#keyId = id
    this.key = key
    if (before !== '') await this.#run('revoke', 'keys', 'revoke', before)
  }

  async #run(name: string, ...parameters: string[]): Promise<string> {
    return await this.#note(name, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [MAHI, ...parameters, '--json'], {
        cwd: this.#place.folder,
        env: { PATH: process.env.PATH, DATABASE_URL: this.#place.commandUrl },
      })
      return stdout
    })
  }

  async #note(name: string, work: () => Promise<string>): Promise<string> {
    try {
      const result = await work()
      this.done[name] = (this.done[name] ?? 0) + 1
      return result
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
      this.failures.push(`${name}: ${`${stdout}${stderr}` || error}`)
      return ''
    }
  }

  /** Sends files with faults, then without; the submission is cancelled, so that the database has no reason to grow. */
  async #sendReturn(url: string): Promise<string> {
    const { submissions, validationResults } = createClient({
      baseUrl: url,
      apiKey: this.#visitor,
      eid: VISITOR,
    })
    const { submissionToken: token = '' } = await submissions.create({ returnId: RETURN })
    for (const set of ['faulty', 'clean'] as const) {
      for (const file of SDR_FILES) {
        const path = new URL(`samples/sdr/${set}/${file}.csv`, PACKAGE_ROOT)
        await submissions.putFile(token, file, readFileSync(path))
      }
      const { runId = 0 } = await submissions.validate(token)
      const run = await submissions.waitForRun(token, runId)
      if (run.status !== 'Processed') throw new Error(`a run ended as ${run.status}: ${run.reason}`)
      const { totalCount } = await validationResults.page(token, { pageSize: 100 })
      if ((totalCount === 0) !== (set === 'clean'))
        throw new Error(`${set} files have ${totalCount} findings`)
    }
    await submissions.delete(token)
    return token
  }

  /** Signs in with a key, reads pages and signs out. */
  async #visitConsole(url: string): Promise<string> {
    const send = async (path: string, cookie: string, form?: Record<string, string>): Promise<Response> => {
      const response = await fetch(`${url}/console/${path}`, {
        method: form === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: { cookie, origin: url },
        ...(form !== undefined && { body: new URLSearchParams(form) }),
      })
      await response.arrayBuffer()
      // Turned away, which has a rule of its own: a person tries again.
      if (response.status !== 503) return response
      await sleep(1_000)
      return await send(path, cookie, form)
    }
    const expect = async (status: number, ...parameters: Parameters<typeof send>) => {
      const response = await send(...parameters)
      if (response.status !== status) throw new Error(`${parameters[0]}: ${response.status}`)
      return response
    }
    const signedIn = await expect(303, 'sign-in', '', { key: this.#visitor })
    const [session = ''] = signedIn.headers.getSetCookie()[0]?.split(';', 1) ?? []
    for (const path of PAGES) await expect(200, path, session)
    await expect(303, 'sign-out', session, { [TOKEN_FIELD]: deriveToken(session.split('=')[1] ?? '') })
    if ((await send('submissions', session)).status === 200)
      throw new Error('the session outlives signing out')
    return session
  }
}
