import { hash, randomBytes } from 'node:crypto'
import type { Principal } from '../api/access/principal.ts'
import type { Database } from '../foundation/database/database.ts'

/** A draft that nobody changes is deleted after this time. */
const LIFETIME = 30 * 24 * 60 * 60_000

/** The most drafts of a person: a new one takes the place of that which was changed longest ago. */
const MOST = 20

/** A draft as a list shows it. */
export interface Draft<Content> {
  readonly id: string
  readonly content: Content
  /** In milliseconds since 1970. */
  readonly changed: number
}

interface DraftRow {
  readonly id: string
  readonly content: string
  readonly changed: number
}

/**
 * What a person has begun and not finished, such as the choices in a list of titles. It is stored, so that nothing is
 * lost by Back, by a link or by the end of a session. Nobody else can read it.
 */
export class Drafts {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Stores a new draft and returns its id. */
  async create(principal: Principal, content: object): Promise<string> {
    const id = randomBytes(16).toString('base64url')
    const owner = ownerOf(principal)
    const now = Date.now()
    await this.#database.write(`draft:${id}`, async (writer) => {
      await writer.run('delete from console_draft where changed < $1', [now - LIFETIME])
      await writer.run(
        `delete from console_draft where owner = $1 and id not in
           (select id from console_draft where owner = $1 order by changed desc limit ${MOST - 1})`,
        [owner],
      )
      await writer.run('insert into console_draft (id, owner, content, changed) values ($1, $2, $3, $4)', [
        id,
        owner,
        JSON.stringify(content),
        now,
      ])
    })
    return id
  }

  /** The drafts of a person, the last changed first. */
  async list<Content>(principal: Principal): Promise<readonly Draft<Content>[]> {
    const rows = await this.#database.all<DraftRow>(
      'select id, content, changed from console_draft where owner = $1 order by changed desc',
      [ownerOf(principal)],
    )
    return rows.map(({ id, content, changed }) => ({ id, content: JSON.parse(content) as Content, changed }))
  }

  /** A draft of the person; `undefined` if there is none. */
  async find<Content>(principal: Principal, id: string): Promise<Content | undefined> {
    const row = await this.#database.get<DraftRow>(
      'select content from console_draft where id = $1 and owner = $2',
      [id, ownerOf(principal)],
    )
    return row && (JSON.parse(row.content) as Content)
  }

  /** Changes a draft of the person; two changes at once follow each other. `undefined` if there is none. */
  async change<Content extends object>(
    principal: Principal,
    id: string,
    change: (content: Content) => Content,
  ): Promise<Content | undefined> {
    return await this.#database.write(`draft:${id}`, async (writer) => {
      const owner = ownerOf(principal)
      const row = await writer.get<DraftRow>(
        'select content from console_draft where id = $1 and owner = $2',
        [id, owner],
      )
      if (row === undefined) return undefined
      const changed = change(JSON.parse(row.content) as Content)
      await writer.run('update console_draft set content = $2, changed = $3 where id = $1', [
        id,
        JSON.stringify(changed),
        Date.now(),
      ])
      return changed
    })
  }

  async delete(principal: Principal, id: string): Promise<void> {
    await this.#database.write(`draft:${id}`, (writer) =>
      writer.run('delete from console_draft where id = $1 and owner = $2', [id, ownerOf(principal)]),
    )
  }
}

/** A person: the key, and who uses it. */
const ownerOf = ({ id, name = '' }: Principal): string => hash('sha256', JSON.stringify([id, name]), 'hex')
