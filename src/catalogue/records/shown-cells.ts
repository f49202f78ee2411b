import { count } from '../../foundation/text/format-number.ts'

/** A number of a spreadsheet that is read as text. */
interface ShownCell {
  readonly cell: string
  readonly stored: string
  readonly shown: string
}

/** The most cells that are kept. */
const MOST_KEPT = 10

/** The most cells that a message names. */
const MOST_NAMED = 3

/** Collects the cells of spreadsheets that were read as they are shown, because their field is text. */
export class ShownCells {
  #count = 0
  readonly #first: ShownCell[] = []

  readonly add = (cell: ShownCell): void => {
    if (++this.#count <= MOST_KEPT) this.#first.push(cell)
  }

  /** As a member of a JSON object; nothing if there are none. */
  toMember(): { readAsShown?: { count: number; first: readonly ShownCell[] } } {
    return this.#count === 0 ? {} : { readAsShown: { count: this.#count, first: this.#first } }
  }

  /** A sentence; none if there are none. */
  describe(): string[] {
    if (this.#count === 0) return []
    const cells =
      this.#count === 1
        ? '1 cell was read as the sheet shows it'
        : `${count(this.#count, 'cell')} were read as the sheet shows them`
    const named = this.#first
      .slice(0, MOST_NAMED)
      .map(({ cell, stored, shown }) => `${cell} as ${shown}, where the sheet holds ${stored}`)
    return [`${cells}: ${named.join('; ')}.`]
  }
}
