import { Chain, Link } from './chain.ts'
import { Lines } from './lines.ts'

export interface BudgetOptions {
  /** Bytes, or slots. */
  readonly capacity: number
  /** What is used up, for the refused caller: a sentence. */
  readonly detail: string
  /** Seconds after which there may be room. */
  readonly retryAfter: number
  /** The most that one owner may hold; defaults to the capacity. The process itself, an empty name, has no share. */
  readonly share?: number
  /**
   * Milliseconds without progress after which a holder is ended to make room for others; without it, nobody is ended.
   */
  readonly stalled?: number
  /** The most that may wait for room, and the most of one owner; without it, nobody waits. */
  readonly waiting?: { readonly most: number; readonly share: number }
}

/** How many times sooner a holder counts as stalled whose owner holds more than the one who needs room. */
const SOONER = 5

/** How long those who wait are let in one after the other before the event loop has a turn, in milliseconds. */
const TURN = 10

/** How many owners are listed even if they hold nothing: a `Map` whose keys come and go is what a `Chain` avoids. */
const IDLE_OWNERS = 100

/** There is no room; the message is for the caller. */
export class Exhausted extends Error {
  /** Whether it is the owner's own share that is used up. */
  readonly own: boolean
  /** Seconds. */
  readonly retryAfter: number

  constructor({ detail, retryAfter }: Pick<BudgetOptions, 'detail' | 'retryAfter'>, own: boolean) {
    super(detail)
    this.own = own
    this.retryAfter = retryAfter
  }
}

/** A place in the line of an owner. */
interface Place {
  admit(holding: Holding): void
  timer: NodeJS.Timeout | undefined
}

/** A part of a budget that somebody holds. */
export class Holding extends Link<Holding> {
  readonly owner: string
  /** Ends the holder, if it can be ended at the moment. */
  end: (() => void) | undefined
  amount = 0
  /** When the holder last made progress. */
  since = performance.now()
  readonly #budget: Budget

  constructor(budget: Budget, owner: string, end: (() => void) | undefined) {
    super()
    this.#budget = budget
    this.owner = owner
    this.end = end
  }

  /** @throws {Exhausted} */
  add(amount: number): void {
    this.#budget.add(this, amount)
  }

  /** Changes what is held without a check: it is in use already. */
  count(amount: number): void {
    this.#budget.count(this, amount)
  }

  /** Hands over a part to another holder. */
  give(other: Holding, amount: number): void {
    this.#budget.give(this, other, amount)
  }

  /** The holder has made progress, and is the last that is ended. */
  progress(): void {
    this.#budget.progress(this)
  }

  /** May be called again. */
  release(): void {
    this.#budget.release(this)
  }
}

/**
 * Something that a process has only so much of: bytes of memory, or slots. Each owner, which is a credential or the
 * address of a caller without one, holds at most its share, so that nobody keeps all others out.
 */
export class Budget {
  readonly #options: BudgetOptions
  /** The longest without progress first. */
  readonly #holdings = new Chain<Holding>()
  /** What each owner holds; up to `IDLE_OWNERS` hold nothing. */
  readonly #held = new Map<string, number>()
  readonly #lines = new Lines<Place>()
  #used = 0
  #refused = 0
  /** When the first of this turn of the event loop was let in. */
  #turn: number | undefined

  constructor(options: BudgetOptions) {
    this.#options = options
  }

  get capacity(): number {
    return this.#options.capacity
  }

  /** The most that one owner may hold, unless it is a single part. */
  get share(): number {
    return this.#options.share ?? this.capacity
  }

  get used(): number {
    return this.#used
  }

  get waiting(): number {
    return this.#lines.length
  }

  /** How often there was no room. */
  get refused(): number {
    return this.#refused
  }

  /** What an owner holds. */
  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }

  /**
   * Takes a part of the budget until `release`.
   *
   * @param end called if the holder is ended to make room for others; it no longer holds anything then
   * @throws {Exhausted}
   */
  take(owner: string, amount: number, end?: () => void): Holding {
    const holding = new Holding(this, owner, end)
    this.#holdings.add(holding)
    try {
      this.add(holding, amount)
      return holding
    } catch (error) {
      this.#holdings.delete(holding)
      throw error
    }
  }

  /**
   * Takes a slot, and waits for it if there is none. Owners take turns.
   *
   * @param patience milliseconds to wait at most
   * @throws {Exhausted} if too many wait already, or after that time
   */
  enter(owner: string, patience?: number): Promise<Holding> {
    if (this.waiting === 0 && this.hasRoom(owner, 1)) return Promise.resolve(this.take(owner, 1))
    const { waiting = { most: 0, share: 0 } } = this.#options
    const isFull = this.waiting >= waiting.most
    if (isFull || (owner !== '' && this.#lines.lengthOf(owner) >= waiting.share))
      return Promise.reject(this.#refuse(!isFull))
    const { promise, resolve, reject } = Promise.withResolvers<Holding>()
    const place: Place = { admit: resolve, timer: undefined }
    this.#lines.add(owner, place)
    if (patience !== undefined)
      place.timer = setTimeout(() => {
        this.#lines.remove(owner, place)
        reject(this.#refuse(this.#used < this.capacity))
      }, patience)
    this.#letIn()
    return promise
  }

  /**
   * Makes sure that there is room for more, and takes nothing.
   *
   * @throws {Exhausted}
   */
  assertRoom(owner: string, amount: number): void {
    this.#makeRoom(owner, amount, undefined)
  }

  /** @throws {Exhausted} */
  add(holding: Holding, amount: number): void {
    // It was ended meanwhile.
    if (!this.#holdings.has(holding)) throw this.#refuse(false)
    if (amount > 0) this.#makeRoom(holding.owner, amount, holding)
    this.count(holding, amount)
  }

  give(from: Holding, to: Holding, amount: number): void {
    this.count(from, -amount)
    this.count(to, amount)
  }

  progress(holding: Holding): void {
    holding.since = performance.now()
    if (this.#holdings.delete(holding)) this.#holdings.add(holding)
  }

  release(holding: Holding): void {
    this.count(holding, -holding.amount)
    if (!this.#holdings.delete(holding)) return
    if (this.waiting > 0) this.#letIn()
  }

  count(holding: Holding, amount: number): void {
    if (!this.#holdings.has(holding)) return
    holding.amount += amount
    this.#used += amount
    const held = this.heldBy(holding.owner) + amount
    if (held === 0 && this.#held.size > IDLE_OWNERS) this.#held.delete(holding.owner)
    else this.#held.set(holding.owner, held)
  }

  /** Whether there is room for more without ending others. */
  hasRoom(owner: string, amount: number): boolean {
    const { capacity, share = capacity } = this.#options
    const held = this.heldBy(owner)
    // What exceeds everything on its own has room where there is nothing else.
    const fits = this.#used === 0 || this.#used + amount <= capacity
    return fits && (owner === '' || held === 0 || held + amount <= share)
  }

  #makeRoom(owner: string, amount: number, own: Holding | undefined): void {
    if (this.hasRoom(owner, amount)) return
    const { stalled = Number.POSITIVE_INFINITY } = this.#options
    const now = performance.now()
    const wanted = this.heldBy(owner) + amount
    let next: Holding | undefined
    for (let holding = this.#holdings.first; holding !== undefined; holding = next) {
      next = holding.after
      const waited = now - holding.since
      if (waited < stalled / SOONER) break
      // Those who hold more than the caller would make room sooner.
      if (waited < stalled && this.heldBy(holding.owner) <= wanted) continue
      if (holding === own || holding.end === undefined || holding.amount <= 0) continue
      // If only the owner's share is used up, ending others would gain nothing.
      if (this.#used + amount <= this.capacity && holding.owner !== owner) continue
      this.release(holding)
      holding.end()
      if (this.hasRoom(owner, amount)) return
      // The end of one holder may be that of others.
      if (next !== undefined && !this.#holdings.has(next)) next = this.#holdings.first
    }
    throw this.#refuse(this.#used + amount <= this.capacity)
  }

  #refuse(own: boolean): Exhausted {
    this.#refused++
    return new Exhausted(this.#options, own)
  }

  /** Lets in those who wait, each owner in turn, and gives the event loop its own turn after a while. */
  #letIn(): void {
    const now = performance.now()
    if (this.#turn === undefined) {
      this.#turn = now
      setImmediate(() => {
        this.#turn = undefined
        if (this.waiting > 0) this.#letIn()
      })
    }
    if (now - this.#turn >= TURN) return
    while (this.#used < this.capacity) {
      const next = this.#lines.next((owner) => this.hasRoom(owner, 1))
      if (next === undefined) return
      clearTimeout(next.place.timer)
      next.place.admit(this.take(next.owner, 1))
    }
  }
}
