/** How much more than the limit is written before the shares are computed again, as a part of the limit. */
const STEP = 1 / 8

/**
 * Divides the bytes that all findings may take among their codes: each gets as much as any other, and what a code
 * does not need goes to the others (max-min fairness). Codes arrive in any order, so the final shares are known only
 * at the end. Until then, a code stops at its share of what was written so far, which can only become smaller. With
 * n codes, at most ln(n) + 1 times the limit is written.
 */
export class FindingShares {
  readonly #most: number
  readonly #taken = new Map<string, number>()
  #total = 0
  /** The share of a code; smaller ones have all their findings. */
  #share = Number.POSITIVE_INFINITY
  #next: number

  /** @param most in bytes */
  constructor(most: number) {
    this.#most = most
    this.#next = most
  }

  get exceeded(): boolean {
    return this.#total > this.#most
  }

  /** Whether a code may have another finding. */
  hasRoom(code: string): boolean {
    return this.#share === Number.POSITIVE_INFINITY || (this.#taken.get(code) ?? 0) < this.#share
  }

  add(code: string, bytes: number): void {
    this.#taken.set(code, (this.#taken.get(code) ?? 0) + bytes)
    this.#total += bytes
    if (this.#total <= this.#next) return
    this.#share = this.#computeShare()
    this.#next = this.#total + this.#most * STEP
  }

  /** Decides for all findings once more, in the same order, whether each is kept: the first of a code always is. */
  divide(): (code: string, bytes: number) => boolean {
    const share = this.#computeShare()
    const kept = new Map<string, number>()
    return (code, bytes) => {
      const before = kept.get(code)
      kept.set(code, (before ?? 0) + bytes)
      return before === undefined || before + bytes <= share
    }
  }

  #computeShare(): number {
    let left = this.#most
    const sizes = [...this.#taken.values()].sort((one, other) => one - other)
    for (const [index, size] of sizes.entries()) {
      const share = left / (sizes.length - index)
      if (size > share) return share
      left -= size
    }
    return Number.POSITIVE_INFINITY
  }
}
