import { createHmac, timingSafeEqual } from 'node:crypto'

/** The position of a reader of changes. */
export interface Position {
  /** The newest revision known when the token was created. */
  readonly head: number
  /** The revision of the reader's catalogue when this walk over the changes began; -1 for none. */
  readonly base: number
  /** The newest revision when this walk began; `undefined` if it begins now. */
  readonly start: number | undefined
  /** Everything up to this code of this revision has been read; `''` means before its first. */
  readonly revision: number
  readonly code: string
}

/** Before all changes: a first load. */
export const BEGINNING: Omit<Position, 'head'> = { base: -1, start: undefined, revision: -1, code: '' }

/** The position of a reader that has read everything up to a revision. */
export function atEndOf(revision: number): Position {
  return { head: revision, base: revision, start: undefined, revision: revision + 1, code: '' }
}

/** Characters of the checksum, which has 96 bits. */
const CHECK_LENGTH = 16

/**
 * Encodes a position as a token.
 *
 * @param id the id of revision `head`, which differs in another installation and after a restore
 */
export function writeToken(position: Position, id: string): string {
  const { head, base, start, revision, code } = position
  const fields = start === undefined ? [head] : [head, base, start, revision, code]
  const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `${payload}.${check(payload, id)}`
}

/** A token that has not yet been compared with the revision that it names. */
export interface UncheckedToken {
  readonly position: Position
  /** Whether revision `head` has this id here. */
  readonly belongsTo: (id: string) => boolean
}

/** Parses a token; `undefined` if it is malformed. */
export function readToken(token: string): UncheckedToken | undefined {
  const [payload = '', given = '', ...others] = token.split('.')
  if (others.length > 0 || given.length !== CHECK_LENGTH) return undefined
  const position = readPosition(payload)
  return (
    position && {
      position,
      belongsTo: (id) => {
        const [one, other] = [Buffer.from(check(payload, id)), Buffer.from(given)]
        return one.length === other.length && timingSafeEqual(one, other)
      },
    }
  )
}

function readPosition(payload: string): Position | undefined {
  let fields: unknown
  try {
    fields = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  if (!Array.isArray(fields)) return undefined
  const [head, base, start, revision, code] = fields as unknown[]
  if (!isRevision(head)) return undefined
  if (fields.length === 1) return atEndOf(head)
  if (!isRevision(base, -1) || !isRevision(start) || !isRevision(revision, -1)) return undefined
  return typeof code === 'string' ? { head, base, start, revision, code } : undefined
}

function isRevision(value: unknown, least = 0): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least
}

function check(payload: string, id: string): string {
  return createHmac('sha256', id).update(payload).digest('base64url').slice(0, CHECK_LENGTH)
}
