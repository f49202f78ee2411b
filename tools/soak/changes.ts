import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateFindings, generateOccupations } from '../../bench/data.ts'
import type { Place } from '../../bench/empty-database.ts'
import { EID, MAHI } from '../../bench/mahi.ts'

export interface Sizes {
  readonly records: number
  /** Published anew in turn, so that the database has no reason to grow. */
  readonly submissions: number
  /** Of each submission. */
  readonly findings: number
}

/** What changes the database while it is asked: real commands, one after the other. */
export class Changes {
  /** How many commands have ended well, by what they do. */
  readonly done: Record<string, number> = {}
  /** What commands have said that failed. */
  readonly failures: string[] = []
  /** A key that is valid, another one after each round. */
  key = ''
  readonly #place: Place
  readonly #records: readonly Record<string, unknown>[]
  readonly #submissions: number
  readonly #settings: Readonly<Record<string, string>>
  #keyId = ''
  #round = 0

  private constructor(
    place: Place,
    records: readonly Record<string, unknown>[],
    submissions: number,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#place = place
    this.#submissions = submissions
    this.#records = records
    this.#settings = settings
  }

  /**
   * Fills the database.
   *
   * @param settings those of the commands
   */
  static async begin(
    place: Place,
    sizes: Sizes,
    settings: Readonly<Record<string, string>>,
  ): Promise<Changes> {
    const records: Record<string, unknown>[] = []
    for await (const { value } of generateOccupations(sizes.records)) {
      const { lastUpdatedDate: _, ...record } = value as Record<string, unknown>
      records.push(record)
    }
    const findings: string[] = []
    for await (const { value } of generateFindings(sizes.findings)) findings.push(JSON.stringify(value))
    writeFileSync(join(place.folder, 'findings.ndjson'), `${findings.join('\n')}\n`)
    const changes = new Changes(place, records, sizes.submissions, settings)
    await changes.#import(0)
    for (let index = 0; index < sizes.submissions; index++) await changes.#publish(index)
    await changes.#changeKey()
    if (changes.failures.length > 0) throw new Error(changes.failures.join('\n'))
    return changes
  }

  /** An import, a publish and, now and then, a new key in place of the last one. */
  async round(): Promise<void> {
    this.#round++
    await this.#import(this.#round)
    await this.#publish(this.#round % this.#submissions)
    if (this.#round % 4 === 0) await this.#changeKey()
  }

  /** Every round changes one record in twenty; every second one takes some away, and the next brings them back. */
  async #import(round: number): Promise<void> {
    const lines = this.#records.flatMap((record, index) => {
      if (round % 2 === 1 && index % 100 === 99) return []
      return JSON.stringify({ ...record, trainingDuration: `${Math.floor((round + index) / 20)} months` })
    })
    writeFileSync(join(this.#place.folder, 'occupations.ndjson'), `${lines.join('\n')}\n`)
    await this.#run('import', ['occupations', 'import', '--replace', 'occupations.ndjson'])
  }

  async #publish(index: number): Promise<void> {
    const names = ['--eid', EID, '--return', `R${index}`, '--token', tokenOf(index)]
    await this.#run('publish', ['results', 'publish', ...names, 'findings.ndjson'])
  }

  async #changeKey(): Promise<void> {
    const before = this.#keyId
    const created = await this.#run('key', ['keys', 'create', '--client', 'soak', '--eid', EID])
    if (created === undefined) return
    const { id, key } = JSON.parse(created) as { id: string; key: string }
    this.#keyId = id
    this.key = key
    if (before !== '') await this.#run('revoke', ['keys', 'revoke', before])
  }

  async #run(name: string, parameters: readonly string[]): Promise<string | undefined> {
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [MAHI, ...parameters, '--json'], {
        cwd: this.#place.folder,
        env: { PATH: process.env.PATH, DATABASE_URL: this.#place.commandUrl, ...this.#settings },
      })
      this.done[name] = (this.done[name] ?? 0) + 1
      return stdout
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
      this.failures.push(`${name}: ${stdout}${stderr}` || String(error))
      return undefined
    }
  }
}

export function tokenOf(index: number): string {
  return `soak-submission-${index}`
}
