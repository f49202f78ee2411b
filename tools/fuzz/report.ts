import type { Case } from './case.ts'
import type { Holding } from './service.ts'
import type { Answer } from './wire.ts'

/** What became of a run. */
export class Report {
  readonly #run: { readonly mode: string; readonly seed: number }
  /** Cases and failures of each kind. */
  readonly #kinds = new Map<string, { tried: number; failed: number }>()
  readonly #statuses = new Map<number, number>()
  readonly failures: string[] = []
  /** Cases whose answer took too long. */
  readonly slow: number[] = []
  #slowest = { took: 0, index: 0 }
  #answers = 0
  /** What the service held after each part of the requests. */
  readonly memory: Holding[] = []

  constructor(run: { readonly mode: string; readonly seed: number }) {
    this.#run = run
  }

  count(each: Case, index: number, answers: readonly Answer[], took: number): void {
    this.#kind(each.kind).tried++
    this.#countAnswers(answers)
    if (took > this.#slowest.took) this.#slowest = { took, index }
  }

  fail(each: Case, index: number, answers: readonly Answer[], why: string): void {
    const kind = this.#kind(each.kind)
    kind.tried++
    kind.failed++
    this.#countAnswers(answers)
    const sent = each.steps
      .map((step) => ('send' in step ? quoteBytes(step.send) : JSON.stringify(step)))
      .join(' ')
    const came = answers.at(-1)
    const answer =
      came === undefined ? 'nothing' : quoteBytes(`${came.head}\r\n\r\n${came.body.toString('latin1')}`)
    this.failures.push(
      `--mode ${this.#run.mode} --seed ${this.#run.seed} --only ${index}: ${each.kind}, ${each.what}: ${why}\n  sent ${sent}\n  came ${answer}`,
    )
  }

  /** What is wrong with no case in particular. */
  blame(why: string): void {
    this.failures.push(`--mode ${this.#run.mode} --seed ${this.#run.seed}: ${why}`)
  }

  #kind(kind: string) {
    const counts = this.#kinds.get(kind) ?? { tried: 0, failed: 0 }
    this.#kinds.set(kind, counts)
    return counts
  }

  #countAnswers(answers: readonly Answer[]): void {
    this.#answers += answers.length
    for (const { status } of answers) this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1)
  }

  /** The figures, for people. */
  describe(): string {
    const kinds = [...this.#kinds]
      .sort()
      .map(
        ([kind, { tried, failed }]) =>
          `  ${kind}: ${tried} tried, ${tried - failed} passed, ${failed} failed`,
      )
    const statuses = [...this.#statuses]
      .sort(([one], [other]) => one - other)
      .map(([status, count]) => `${status}: ${count}`)
    const cases = [...this.#kinds.values()].reduce((sum, { tried }) => sum + tried, 0)
    const lines = [
      `${this.#run.mode}, seed ${this.#run.seed}: ${cases} cases, ${this.#answers} answers, ${this.failures.length} faults`,
      ...kinds,
      `  by status: ${statuses.join(', ')}`,
      `  slowest: ${Math.round(this.#slowest.took)} ms (case ${this.#slowest.index}); over a second, and asked again: ${this.slow.length}`,
    ]
    for (const [index, holding] of this.memory.entries()) {
      lines.push(`  after ${index + 1} of ${this.memory.length} parts: ${tell(holding)}`)
    }
    return `${lines.join('\n')}\n`
  }
}

const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`
const tell = ({ rss, heap, external, sockets }: Holding) =>
  `${mb(rss)} resident, ${mb(heap)} of objects, ${mb(external)} outside the heap, ${sockets} sockets`

/** Bytes of a request or an answer that are printed; `--only` makes the whole request again. */
const MOST_SHOWN = 1500

/** Bytes as a string that a program can take again, cut off where it is long. */
function quoteBytes(bytes: string): string {
  const text = JSON.stringify(bytes.slice(0, MOST_SHOWN)).replace(
    /[\x7f-\xff]/g,
    (each) => `\\u00${each.charCodeAt(0).toString(16)}`,
  )
  return bytes.length > MOST_SHOWN ? `${text}… (${bytes.length} bytes)` : text
}
