import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { UserError } from '../faults/user-error.ts'

/** A 256-bit key, and the id by which encrypted data refers to it. */
export interface SealKey {
  readonly id: string
  readonly key: Uint8Array
}

/** Data was encrypted with a key that is not configured, or it was changed. */
export class DecryptionFailed extends UserError {}

const PLAIN = 0
const SEALED = 1
const SALT = 16
const IV = 12
const TAG = 16
/** Marks encrypted text; plain text is JSON, which never starts with it. */
const MARK = '~'
/** Derived keys in the cache: reading a page uses those of one or two runs. */
const MOST_DERIVED = 64

/**
 * Encrypts stored data with AES-256-GCM, or leaves it plain if there is no key. Each `Sealing` derives its own key
 * from a random salt, so no nonce is ever used twice.
 *
 * Plain bytes are `0` and the content. Encrypted bytes are `1`, the length of the key id, the id, salt, nonce, tag
 * and ciphertext. Encrypted text is `~` and the same in base64url.
 */
export class Sealer {
  readonly #keys: readonly SealKey[]
  readonly #derived = new Map<string, KeyObject>()

  /** @param keys the first one encrypts; all of them decrypt */
  constructor(keys: readonly SealKey[] = []) {
    this.#keys = keys
  }

  /** The id of the key that encrypts; `null` without encryption. */
  get keyId(): string | null {
    return this.#keys[0]?.id ?? null
  }

  /** The ids of all keys; the first one encrypts. */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ id }) => id)
  }

  /**
   * Starts encrypting the parts of one object, such as a run.
   *
   * @param keyId the key of an object that already has parts; by default the first one
   * @throws {DecryptionFailed} if there is no such key
   */
  begin(keyId?: string | null): Sealing {
    const key = keyId == null ? this.#keys[0] : this.#key(keyId)
    if (key === undefined) return new Sealing()
    const salt = randomBytes(SALT)
    const id = Buffer.from(key.id)
    return new Sealing({
      head: Buffer.concat([Buffer.of(SEALED, id.length), id, salt]),
      key: derive(key, salt),
    })
  }

  /** @throws {DecryptionFailed} */
  open(data: Uint8Array, context: string): Buffer {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    if (bytes[0] === PLAIN) return bytes.subarray(1)
    const idEnd = 2 + (bytes[1] ?? 0)
    const key = this.#find(bytes.toString('utf8', 2, idEnd), bytes.subarray(idEnd, idEnd + SALT))
    const nonceEnd = idEnd + SALT + IV
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(idEnd + SALT, nonceEnd))
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(nonceEnd, nonceEnd + TAG))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(nonceEnd + TAG)), decipher.final()])
    } catch (cause) {
      throw new DecryptionFailed('stored data cannot be decrypted: it was changed, or the key is wrong', {
        cause,
      })
    }
  }

  /** @throws {DecryptionFailed} */
  openText(text: string, context: string): string {
    if (!text.startsWith(MARK)) return text
    return this.open(Buffer.from(text.slice(MARK.length), 'base64url'), context).toString('utf8')
  }

  /**
   * The value of a JSON text that was stored with its context.
   *
   * @throws {DecryptionFailed}
   */
  openJson<T>(text: string, context: string): T {
    return JSON.parse(this.openText(text, context)) as T
  }

  /** Encrypts a value as JSON text, with the newest key. */
  sealJson(value: unknown, context: string): string {
    return this.begin().sealText(JSON.stringify(value), context)
  }

  /** Returns a keyed hash of a value: equal values can be found, but not guessed without the key. */
  hash(keyId: string | null, value: string, context: string): string {
    if (keyId === null) return value
    const key = this.#find(keyId, Buffer.from(context))
    return createHmac('sha256', key).update(value).digest('base64url').slice(0, 22)
  }

  /** Returns the value and its hash with each key: one of them is stored, whichever key encrypted the object. */
  hashes(value: string, context: string): string[] {
    return [null, ...this.keyIds].map((id) => this.hash(id, value, context))
  }

  #key(id: string): SealKey {
    const key = this.#keys.find((each) => each.id === id)
    if (key !== undefined) return key
    throw new DecryptionFailed(
      `stored data is encrypted with the key "${id}", which ENCRYPTION_KEYS does not have`,
    )
  }

  #find(id: string, salt: Uint8Array): KeyObject {
    const name = `${id}/${Buffer.from(salt).toString('base64url')}`
    let derived = this.#derived.get(name)
    if (derived === undefined) {
      derived = derive(this.#key(id), salt)
      const [oldest] = this.#derived.keys()
      if (this.#derived.size >= MOST_DERIVED && oldest !== undefined) this.#derived.delete(oldest)
      this.#derived.set(name, derived)
    }
    return derived
  }
}

/** Encrypts the parts of one object. Decrypting a part needs the same context, such as its position. */
export class Sealing {
  readonly #with: { readonly head: Buffer; readonly key: KeyObject } | undefined
  #count = 0

  constructor(using?: { readonly head: Buffer; readonly key: KeyObject }) {
    this.#with = using
  }

  seal(content: Uint8Array, context: string): Buffer {
    if (this.#with === undefined) return Buffer.concat([Buffer.of(PLAIN), content])
    const nonce = Buffer.alloc(IV)
    nonce.writeUIntBE(++this.#count, IV - 6, 6)
    const cipher = createCipheriv('aes-256-gcm', this.#with.key, nonce)
    cipher.setAAD(Buffer.from(context))
    const sealed = [cipher.update(content), cipher.final()]
    return Buffer.concat([this.#with.head, nonce, cipher.getAuthTag(), ...sealed])
  }

  sealText(text: string, context: string): string {
    if (this.#with === undefined) return text
    return MARK + this.seal(Buffer.from(text), context).toString('base64url')
  }
}

function derive({ key }: SealKey, salt: Uint8Array): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, salt, 'mahi', 32)))
}
