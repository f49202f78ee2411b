import { DatabaseUnavailable, type Reader } from './database.ts'

/** Standbys of a database, which may lag. */
export interface Standby extends Reader {
  /** Whether they have everything that the primary is known to have written. */
  readonly complete: boolean
}

/** The servers that data can be read from. */
export interface Servers {
  readonly primary: Reader
  readonly standby?: Standby | undefined
}

/** A server does not have the requested state: it lags, or the state was replaced in the meantime. */
export class StateMissing extends Error {}

/**
 * Reads at the standby, or at the primary if the standby does not have the requested state.
 *
 * @param read throws `StateMissing` if a server does not have it
 */
export async function readAtStandby<T>(
  { primary, standby }: Servers,
  read: (reader: Reader) => Promise<T>,
): Promise<T> {
  if (standby !== undefined) {
    try {
      return await read(standby)
    } catch (error) {
      if (!(error instanceof StateMissing)) throw error
    }
  }
  return await read(primary)
}

/** Reads the newest state at the primary. A complete standby replaces a primary that is unavailable. */
export async function readAtPrimary<T>(
  { primary, standby }: Servers,
  read: (reader: Reader) => Promise<T>,
): Promise<T> {
  try {
    return await read(primary)
  } catch (error) {
    if (standby?.complete !== true || !(error instanceof DatabaseUnavailable)) throw error
    return await read(standby)
  }
}
