import type { SealKey } from './seal.ts'

/**
 * Reads encryption keys: `id:key` pairs, comma-separated or one on each line, each key 32 bytes in base64.
 *
 * @throws {Error} whose message says what is allowed, and repeats nothing of a key
 */
export function readSealKeys(text: string): readonly SealKey[] {
  const keys = text
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each): SealKey => {
      const [, id, encoded = ''] = /^([\w.-]{1,32}):([A-Za-z0-9+/_-]{43}=?)$/.exec(each) ?? []
      const key = Buffer.from(encoded, 'base64')
      if (id === undefined || key.length !== 32)
        throw new Error('must be pairs such as k1:KEY, comma-separated, each KEY 32 bytes in base64')
      return { id, key }
    })
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('contains the same key id twice')
  if (keys.length === 0) throw new Error('must have at least one key')
  return keys
}
