import { hashPair, hashText } from './seeded-hash.ts'

/** How much larger a list becomes when it is full: twice as large would often be half empty. */
const GROWTH = 1.25
/** A table grows once so much of it is taken. */
const FULL = 0.75

const BEYOND_LATIN1 = /[^\0-\xff]/

/**
 * Numbers distinct texts from 0. The texts are stored as adjacent bytes, which takes a third of the memory of a Map
 * with ten million texts, and has no limit of 16 million entries. All texts together may have 4 GiB.
 */
export class Interner {
  size = 0
  #slots = new Int32Array(1 << 12).fill(-1)
  /** The hash of each text, so that hardly any other is compared with it, and none is hashed again. */
  #hashes = new Int32Array(1 << 11)
  #ends = new Uint32Array(1 << 11)
  #bytes = new Uint8Array(1 << 15)
  #used = 0
  /** Texts with characters beyond Latin-1, which are rare in keys. */
  readonly #others = new Map<string, number>()

  intern(text: string): number {
    const hash = hashText(text)
    const mask = this.#slots.length - 1
    let slot = hash & mask
    for (;;) {
      const id = this.#slots[slot] as number
      if (id === -1) break
      if (this.#hashes[id] === hash && this.#equals(id, text)) return id
      slot = (slot + 1) & mask
    }
    if (BEYOND_LATIN1.test(text)) return this.#internOther(text)
    const id = this.#append(text, hash)
    this.#slots[slot] = id
    if (this.size > this.#slots.length * FULL) this.#grow()
    return id
  }

  /** Frees its memory; it must not be used afterwards. */
  close(): void {
    for (const numbers of [this.#slots, this.#hashes, this.#ends, this.#bytes]) free(numbers)
  }

  #internOther(text: string): number {
    const known = this.#others.get(text)
    if (known !== undefined) return known
    const id = this.#append('', 0)
    this.#others.set(text, id)
    return id
  }

  #equals(id: number, text: string): boolean {
    const end = this.#ends[id] as number
    let at = this.#startOf(id)
    if (end - at !== text.length) return false
    for (let index = 0; index < text.length; index++) {
      if (this.#bytes[at++] !== text.charCodeAt(index)) return false
    }
    return true
  }

  #startOf(id: number): number {
    return id === 0 ? 0 : (this.#ends[id - 1] as number)
  }

  #append(text: string, hash: number): number {
    const id = this.size++
    if (id === this.#hashes.length) {
      this.#hashes = new Int32Array(enlarge(this.#hashes, id * GROWTH))
      this.#ends = new Uint32Array(enlarge(this.#ends, id * GROWTH))
    }
    if (this.#used + text.length > this.#bytes.length) {
      this.#bytes = new Uint8Array(enlarge(this.#bytes, this.#bytes.length * GROWTH + text.length))
    }
    for (let index = 0; index < text.length; index++) this.#bytes[this.#used++] = text.charCodeAt(index)
    this.#hashes[id] = hash
    this.#ends[id] = this.#used
    return id
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1)
    const mask = slots.length - 1
    for (const id of this.#slots) {
      if (id === -1) continue
      let slot = (this.#hashes[id] as number) & mask
      while (slots[slot] !== -1) slot = (slot + 1) & mask
      slots[slot] = id
    }
    free(this.#slots)
    this.#slots = slots
  }
}

/** Numbers distinct pairs of numbers from 0. A longer list is a pair of the number of its start and its last number. */
export class PairTable {
  size = 0
  #slots = new Int32Array(1 << 12).fill(-1)
  /** Both numbers of each pair, side by side: a look-up reads one place of the memory. */
  #pairs = new Int32Array(1 << 12)

  /** The number of a pair; the pair is new if this equals the previous `size`. */
  intern(first: number, second: number): number {
    const slot = this.#find(first, second)
    const known = this.#slots[slot] as number
    if (known !== -1) return known
    const id = this.size++
    const at = id * 2
    if (at === this.#pairs.length)
      this.#pairs = new Int32Array(enlarge(this.#pairs, 2 * Math.ceil(id * GROWTH)))
    this.#pairs[at] = first
    this.#pairs[at + 1] = second
    this.#slots[slot] = id
    if (this.size * 2 > this.#slots.length) this.#grow()
    return id
  }

  has(first: number, second: number): boolean {
    return this.#slots[this.#find(first, second)] !== -1
  }

  #find(first: number, second: number): number {
    const mask = this.#slots.length - 1
    let slot = hashPair(first, second) & mask
    for (;;) {
      const id = this.#slots[slot] as number
      if (id === -1 || (this.#pairs[id * 2] === first && this.#pairs[id * 2 + 1] === second)) return slot
      slot = (slot + 1) & mask
    }
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Int32Array(old.length * 2).fill(-1)
    for (const id of old) {
      if (id === -1) continue
      this.#slots[this.#find(this.#pairs[id * 2] as number, this.#pairs[id * 2 + 1] as number)] = id
    }
  }
}

/** Distinct texts of each of some numbers, such as the learners of a code. */
export class DistinctTexts {
  readonly #texts = new Interner()
  readonly #pairs = new PairTable()

  /** Returns whether the text is new. */
  add(number: number, text: string): boolean {
    const before = this.#pairs.size
    this.#pairs.intern(number, this.#texts.intern(text))
    return this.#pairs.size > before
  }
}

/** A set of small numbers. */
export class NumberSet {
  #bits = new Uint8Array(1 << 12)

  has(number: number): boolean {
    return ((this.#bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0
  }

  /** Returns whether the number is new. */
  add(number: number): boolean {
    const at = number >> 3
    while (at >= this.#bits.length) this.#bits = new Uint8Array(enlarge(this.#bits, this.#bits.length * 2))
    const bit = 1 << (number & 7)
    const before = this.#bits[at] as number
    if ((before & bit) !== 0) return false
    this.#bits[at] = before | bit
    return true
  }
}

/** The first record of each key, by its number. */
export class FirstRecords {
  #records = new Int32Array(1 << 12)

  /** The first record with a key; 0 if it is this one. */
  add(key: number, record: number): number {
    const { length } = this.#records
    if (key >= length)
      this.#records = new Int32Array(enlarge(this.#records, Math.max(key + 1, length * GROWTH)))
    const first = this.#records[key] as number
    if (first === 0) this.#records[key] = record
    return first
  }
}

/** A list of numbers that grows without copying its content. */
export class NumberList {
  size = 0
  readonly #blocks: (Float64Array | Int32Array)[] = []
  readonly #Block: Float64ArrayConstructor | Int32ArrayConstructor

  /** @param Block `Int32Array` for whole numbers of 32 bits, which then take half the memory */
  constructor(Block: Float64ArrayConstructor | Int32ArrayConstructor = Float64Array) {
    this.#Block = Block
  }

  push(number: number): void {
    const at = this.size & 0xffff
    if (at === 0) this.#blocks.push(new this.#Block(1 << 16))
    const block = this.#blocks[this.#blocks.length - 1] as Float64Array | Int32Array
    block[at] = number
    this.size++
  }

  get(index: number): number {
    return this.#blocks[index >> 16]?.[index & 0xffff] ?? 0
  }
}

type Numbers = Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>

/** Moves numbers to a longer buffer, with zeros at the end. The memory of the old one is free at once. */
function enlarge(numbers: Numbers, length: number): ArrayBuffer {
  return numbers.buffer.transfer(Math.ceil(length) * numbers.BYTES_PER_ELEMENT)
}

/** Frees the memory of numbers at once: V8 collects it late, because the numbers are outside its heap. */
function free(numbers: Numbers): void {
  numbers.buffer.transfer(0)
}
