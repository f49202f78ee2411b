export interface SlotsOptions {
  /** Slots, or bytes. */
  readonly capacity: number
  /** The most that one owner may hold; defaults to the capacity. The process itself, an empty name, has no share. */
  readonly share?: number
  /** The most that may wait for a slot, and one owner half of it; defaults to none. */
  readonly waiting?: number
  /** What is used up, for the refused caller: a sentence. */
  readonly detail: string
  /** Seconds after which there may be room. */
  readonly retryAfter: number
}

/** There is no room; the message is for the caller. */
export class Exhausted extends Error {
  /** Whether it is the owner's own share that is used up. */
  readonly own: boolean
  /** Seconds. */
  readonly retryAfter: number

  constructor({ detail, retryAfter }: SlotsOptions, own: boolean) {
    super(detail)
    this.own = own
    this.retryAfter = retryAfter
  }
}

/** What an owner holds until it is released. */
export class Slot {
  readonly #slots: Slots
  readonly #owner: string
  #amount = 0

  constructor(slots: Slots, owner: string) {
    this.#slots = slots
    this.#owner = owner
  }

  get amount(): number {
    return this.#amount
  }

  /** @throws {Exhausted} */
  add(amount: number): void {
    this.#slots.assertRoom(this.#owner, amount)
    this.count(amount)
  }

  /** Adds without a check: it is in use already. */
  count(amount: number): void {
    this.#amount += amount
    this.#slots.count(this.#owner, amount)
  }

  /** May be called again. */
  release(): void {
    this.count(-this.#amount)
  }
}

interface Waiting {
  readonly owner: string
  admit(slot: Slot): void
}

/**
 * Something that a process has only so much of, such as uploads at once or bytes of memory. First come, first served,
 * but each owner, a credential or the address of a caller without one, holds at most its share.
 */
export class Slots {
  readonly #options: SlotsOptions
  readonly #held = new Map<string, number>()
  readonly #waiting = new Set<Waiting>()
  #used = 0
  #refused = 0

  constructor(options: SlotsOptions) {
    this.#options = options
  }

  get capacity(): number {
    return this.#options.capacity
  }

  get used(): number {
    return this.#used
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** How often there was no room. */
  get refused(): number {
    return this.#refused
  }

  /** @throws {Exhausted} */
  take(owner: string, amount = 1): Slot {
    const slot = new Slot(this, owner)
    slot.add(amount)
    return slot
  }

  /**
   * Takes a slot, and waits for it if there is none.
   *
   * @param patience milliseconds to wait at most
   * @throws {Exhausted} if too many wait already, or after that time
   */
  async enter(owner: string, patience?: number): Promise<Slot> {
    if (this.#hasRoom(owner, 1) && this.#findReady() === undefined) return this.take(owner)
    const { waiting: most = 0 } = this.#options
    const isFull = this.#waiting.size >= most
    if (isFull || (owner !== '' && this.#countWaiting(owner) >= most / 2)) throw this.#refuse(!isFull)
    const { promise, resolve, reject } = Promise.withResolvers<Slot>()
    const waiting: Waiting = { owner, admit: resolve }
    this.#waiting.add(waiting)
    const expire = () => reject(this.#refuse(this.#used < this.capacity))
    const timer = patience === undefined ? undefined : setTimeout(expire, patience)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(waiting)
    }
  }

  /**
   * Makes sure that there is room for more, and takes nothing.
   *
   * @throws {Exhausted}
   */
  assertRoom(owner: string, amount: number): void {
    if (!this.#hasRoom(owner, amount)) throw this.#refuse(this.#used + amount <= this.capacity)
  }

  /** Changes what an owner holds; for `Slot` only. */
  count(owner: string, amount: number): void {
    this.#used += amount
    const held = (this.#held.get(owner) ?? 0) + amount
    if (held === 0) this.#held.delete(owner)
    else this.#held.set(owner, held)
    // In a turn of the event loop of its own: work that never waits would otherwise leave it none.
    if (amount < 0 && this.#waiting.size > 0) setImmediate(() => this.#admitNext())
  }

  #hasRoom(owner: string, amount: number): boolean {
    if (amount === 0) return true
    const { capacity, share = capacity } = this.#options
    const held = this.#held.get(owner) ?? 0
    // What exceeds everything on its own has room where there is nothing else.
    const fits = this.#used === 0 || this.#used + amount <= capacity
    return fits && (owner === '' || held === 0 || held + amount <= share)
  }

  #admitNext(): void {
    const next = this.#findReady()
    if (next === undefined) return
    this.#waiting.delete(next)
    next.admit(this.take(next.owner))
  }

  /** The first of those who wait for whom there is room. */
  #findReady(): Waiting | undefined {
    return this.#waiting.values().find(({ owner }) => this.#hasRoom(owner, 1))
  }

  #countWaiting(owner: string): number {
    return this.#waiting
      .values()
      .filter((each) => each.owner === owner)
      .reduce((sum) => sum + 1, 0)
  }

  #refuse(own: boolean): Exhausted {
    this.#refused++
    return new Exhausted(this.#options, own)
  }
}
