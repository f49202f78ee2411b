import type { Left } from './cut-commands.ts'

/** What became of the kills, by what was killed: printed when all are done. */
export class Tally {
  readonly #title: string
  readonly #lines = new Map<string, Record<'kills' | 'old' | 'new' | 'acknowledged', number>>()
  kills = 0
  /** Kills after which the new state was seen by the next start of the server alone. */
  late = 0

  constructor(title: string) {
    this.#title = title
  }

  count(command: string, victim: string, left: Left, acknowledged: boolean): void {
    const name = `${command}, ${victim}`
    const line = this.#lines.get(name) ?? { kills: 0, old: 0, new: 0, acknowledged: 0 }
    this.#lines.set(name, line)
    this.kills++
    line.kills++
    line[left]++
    if (acknowledged) line.acknowledged++
  }

  print(): void {
    const lines = [...this.#lines].sort(([one], [other]) => (one < other ? -1 : 1))
    const text = lines.map(
      ([name, { kills, old, new: fresh, acknowledged }]) =>
        `  ${name}: ${kills} kills, ${old} left the old state, ${fresh} the new one (${acknowledged} acknowledged)\n`,
    )
    process.stderr.write(
      `${this.#title}: ${this.kills} kills in the middle of a command, ${this.late} left the new state to the next start\n${text.join('')}`,
    )
  }
}
