type Numbers = Uint8Array | Uint32Array | Float32Array

/** A list of numbers that grows, in the memory of a typed array: an ordinary array takes several times as much. */
export class NumberList<Type extends Numbers> {
  readonly #make: (length: number) => Type
  #numbers: Type
  #length = 0

  constructor(make: (length: number) => Type) {
    this.#make = make
    this.#numbers = make(1024)
  }

  get length(): number {
    return this.#length
  }

  push(number: number): void {
    if (this.#length === this.#numbers.length) this.#grow(this.#length + 1)
    this.#numbers[this.#length++] = number
  }

  /** Adds to the number at a position. */
  add(at: number, number: number): void {
    this.#numbers[at] = (this.#numbers[at] as number) + number
  }

  set(at: number, number: number): void {
    this.#numbers[at] = number
  }

  at(at: number): number {
    return this.#numbers[at] as number
  }

  append(numbers: Type): void {
    const length = this.#length + numbers.length
    if (length > this.#numbers.length) this.#grow(length)
    this.#numbers.set(numbers, this.#length)
    this.#length = length
  }

  /** The numbers, without a copy. */
  finish(): Type {
    return this.#numbers.subarray(0, this.#length) as Type
  }

  #grow(least: number): void {
    const grown = this.#make(Math.max(least, Math.ceil(this.#numbers.length * 1.5)))
    grown.set(this.#numbers)
    this.#numbers = grown
  }
}

export const bytes = (length: number) => new Uint8Array(length)
export const integers = (length: number) => new Uint32Array(length)
export const floats = (length: number) => new Float32Array(length)

/** The least number from `least` on that at most `most` of the counts reach. */
export function findLeast(counts: Uint32Array, least: number, most: number): number {
  const reached = counts.filter((count) => count >= least).sort()
  return reached.length <= most ? least : (reached[reached.length - most - 1] as number) + 1
}
