import type { Database } from '../../foundation/database/database.ts'

/** How often the last use of keys is stored, in milliseconds, in one write for all of them. */
const INTERVAL = 60_000

/** Records when each key was last used, to about a minute. A request only marks its key. */
export class KeyUse {
  readonly #database: Database
  readonly #used = new Set<string>()
  readonly #timer: NodeJS.Timeout

  constructor(database: Database) {
    this.#database = database
    this.#timer = setInterval(() => void this.store().catch(() => undefined), INTERVAL).unref()
  }

  readonly mark = (id: string): void => {
    this.#used.add(id)
  }

  /** Stores the uses since the last call; if that fails, they are kept for the next call. */
  async store(): Promise<void> {
    const ids = [...this.#used]
    if (ids.length === 0) return
    await this.#database.write('job:key-use', async (writer) => {
      for (const id of ids)
        await writer.run(
          'insert into key_use (key_id, used) values ($1, $2) on conflict (key_id) do update set used = excluded.used',
          [id, Date.now()],
        )
    })
    for (const id of ids) this.#used.delete(id)
  }

  /** Stores the remaining uses. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.store().catch(() => undefined)
  }
}
