import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { UserError } from '../text/user-error.ts'

/** A key of 256 bits, and the name under which sealed data refers to it. */
export interface SealKey {
  readonly id: string
  readonly key: Uint8Array
}

/** Data was sealed with a key that the settings do not have, or it was changed. */
export class SealBroken extends UserError {}

const PLAIN = 0
const SEALED = 1
const SALT = 16
const IV = 12
const TAG = 16
/** Marks a sealed text: a plain one is JSON. */
const MARK = '~'
/** Derived keys that are kept: reading a page uses those of one or two runs. */
const MOST_DERIVED = 64

/**
 * Encrypts what the database stores (AES-256-GCM), or leaves it as it is where there is no key. Each `Sealing` has a key
 * of its own, derived from a random salt, so no nonce is used twice, however much is stored.
 *
 * Bytes are `0` and the content, or `1`, the length of the key's id, the id, salt, nonce, tag and the ciphertext. A
 * sealed text is `~` and the same in base64url.
 */
export class Sealer {
  readonly #keys: readonly SealKey[]
  readonly #derived = new Map<string, Buffer>()

  /** @param keys the first one encrypts; all of them decrypt */
  constructor(keys: readonly SealKey[] = []) {
    this.#keys = keys
  }

  /** The id of the key that encrypts, or `null`. */
  get keyId(): string | null {
    return this.#keys[0]?.id ?? null
  }

  /** Begins to seal the parts of one thing, such as a run. */
  begin(): Sealing {
    const [key] = this.#keys
    if (key === undefined) return new Sealing()
    const salt = randomBytes(SALT)
    const id = Buffer.from(key.id)
    return new Sealing({
      head: Buffer.concat([Buffer.of(SEALED, id.length), id, salt]),
      key: derive(key, salt),
    })
  }

  /** @throws {SealBroken} */
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
      throw new SealBroken('stored data cannot be decrypted: it was changed, or the key is another one', {
        cause,
      })
    }
  }

  /** @throws {SealBroken} */
  openText(text: string, context: string): string {
    if (!text.startsWith(MARK)) return text
    return this.open(Buffer.from(text.slice(1), 'base64url'), context).toString('utf8')
  }

  /** Names a value so that equal ones are found and the value cannot be guessed without the key. */
  blind(keyId: string | null, value: string, context: string): string {
    if (keyId === null) return value
    const key = this.#find(keyId, Buffer.from(context))
    return createHmac('sha256', key).update(value).digest('base64url').slice(0, 22)
  }

  #find(id: string, salt: Uint8Array): Buffer {
    const name = `${id}/${Buffer.from(salt).toString('base64url')}`
    let derived = this.#derived.get(name)
    if (derived === undefined) {
      const key = this.#keys.find((each) => each.id === id)
      if (key === undefined)
        throw new SealBroken(
          `stored data is encrypted with the key "${id}", which ENCRYPTION_KEYS does not have`,
        )
      derived = derive(key, salt)
      const [oldest] = this.#derived.keys()
      if (this.#derived.size >= MOST_DERIVED && oldest !== undefined) this.#derived.delete(oldest)
      this.#derived.set(name, derived)
    }
    return derived
  }
}

/** Seals the parts of one thing; the context of each part, such as its place, has to be given again to open it. */
export class Sealing {
  readonly #with: { readonly head: Buffer; readonly key: Buffer } | undefined
  #count = 0

  constructor(using?: { readonly head: Buffer; readonly key: Buffer }) {
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

function derive({ key }: SealKey, salt: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, 'mahi', 32))
}
