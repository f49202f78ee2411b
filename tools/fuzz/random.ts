/** Random choices that come again with the same seeds: sfc32, of Practically Random. */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number, stream: number) {
    this.#a = seed | 0
    this.#b = stream | 0
    this.#c = Math.trunc(seed / 2 ** 32) | 0
    for (let index = 0; index < 15; index++) this.#next()
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** A whole number from 0 to one below `bound`. */
  below(bound: number): number {
    return Math.floor((this.#next() / 2 ** 32) * bound)
  }

  /** A whole number, both ends within. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1)
  }

  chance(probability: number): boolean {
    return this.#next() / 2 ** 32 < probability
  }

  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }

  /** One of the choices; each comes as often as its weight says. */
  weigh<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.below(choices.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, choice] of choices) {
      if (left < weight) return choice
      left -= weight
    }
    throw new Error('there is nothing to pick from')
  }

  bytes(length: number): string {
    let text = ''
    for (let index = 0; index < length; index++) text += String.fromCharCode(this.below(256))
    return text
  }
}
