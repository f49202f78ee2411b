/** Those who wait, each in the line of its owner. Owners take turns, however many of one owner wait. */
export class Lines<Place> {
  /** The owner whose turn it is first. */
  readonly #byOwner = new Map<string, Place[]>()
  #length = 0

  /** How many wait. */
  get length(): number {
    return this.#length
  }

  /** How many of an owner wait. */
  lengthOf(owner: string): number {
    return this.#byOwner.get(owner)?.length ?? 0
  }

  add(owner: string, place: Place): void {
    const line = this.#byOwner.get(owner)
    if (line === undefined) this.#byOwner.set(owner, [place])
    else line.push(place)
    this.#length++
  }

  /** Removes the first in the line of the owner whose turn it is, and returns it; `undefined` if nobody is ready. */
  next(isReady: (owner: string) => boolean = () => true): { owner: string; place: Place } | undefined {
    for (const [owner, line] of this.#byOwner) {
      const [place] = line
      if (place === undefined || !isReady(owner)) continue
      this.remove(owner, place)
      // Behind all others, if there are any.
      if (this.#byOwner.size > 1 && this.#byOwner.delete(owner)) this.#byOwner.set(owner, line)
      return { owner, place }
    }
    return undefined
  }

  remove(owner: string, place: Place): void {
    const line = this.#byOwner.get(owner) ?? []
    const index = line.indexOf(place)
    if (index === -1) return
    line.splice(index, 1)
    this.#length--
    if (line.length === 0) this.#byOwner.delete(owner)
  }
}
