import { expect } from 'vitest'
import type { Installation, Outcome, RunningCommand } from './command.ts'
import { readRepositoryFile } from './deploy.ts'

export const runbook = readRepositoryFile('docs/runbook.md')

/** The procedures by the name of their alert. */
export const procedures: ReadonlyMap<string, string> = new Map(
  runbook
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0] ?? '', section] as const),
)

/** The commands of a text that begin with a word, such as `mahi`. */
export function commandsIn(text: string, program = 'mahi'): string[] {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command)
  return quoted.filter((command) => /^\S+ (?:-|[a-z'])/.test(command) && command.startsWith(`${program} `))
}

/** Processes that run until they are stopped. */
export const LASTING = ['mahi serve', 'mahi work']

/** Whoever follows the procedure of an alert, literally, and sees the metrics of a process. */
export class Operator {
  readonly #mahi: Installation
  readonly #environment: Readonly<Record<string, string>>

  /** @param environment settings that the commands find in `/etc/mahi/mahi.env` */
  constructor(mahi: Installation, environment: Readonly<Record<string, string>> = {}) {
    this.#mahi = mahi
    this.#environment = environment
  }

  /** The only command of a procedure that begins so. */
  commandOf(alert: string, start: string): string {
    const found = commandsIn(procedures.get(alert) ?? '', start.split(' ')[0]).filter((each) =>
      each.startsWith(start),
    )
    expect([...new Set(found)], `${start} in ${alert}`).toHaveLength(1)
    return found[0] ?? ''
  }

  /** Runs a command of a procedure as it is written there, but for the values that stand for others. */
  async run(alert: string, start: string, values: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    const [program = '', ...words] = this.commandOf(alert, start).split(' ')
    const parameters = words.map((word) =>
      Object.entries(values).reduce((text, [name, value]) => text.replace(name, value), word),
    )
    return program === 'mahi'
      ? await this.#mahi.run(parameters, { environment: this.#environment })
      : await this.#mahi.spawn(program, parameters, { environment: this.#environment }).ended
  }

  /** Runs all commands of a procedure in the order of its steps; returns what they printed. */
  async follow(
    alert: string,
    values: Readonly<Record<string, string>> = {},
  ): Promise<Readonly<Record<string, string>>> {
    const outputs: Record<string, string> = {}
    for (const each of commandsIn(procedures.get(alert) ?? '')) {
      if (LASTING.includes(each)) {
        if (each === 'mahi work') this.work()
        continue
      }
      const words = each.split(' ').slice(1)
      const outcome = await this.#mahi.run(
        words.map((word) => values[word] ?? word),
        { environment: this.#environment },
      )
      expect([each, outcome.code, outcome.code === 0 ? '' : outcome.stderr]).toEqual([each, 0, ''])
      outputs[each] = outcome.stdout
    }
    return outputs
  }

  /** `mahi work`, until the test ends. */
  work(): RunningCommand {
    return this.#mahi.start(['work'], { environment: this.#environment })
  }
}

/** A process with metrics, which a test reads as Prometheus does. */
export async function serveWithMetrics(
  mahi: Installation,
  environment: Readonly<Record<string, string>> = {},
) {
  const { readMetrics, ...served } = await mahi.serveWithMetrics({ LOG_LEVEL: 'info', ...environment })
  /** The sum of the values of all series of a metric with this label, such as `status="500"`. */
  const read = async (metric: string, label = '') => {
    return (await readMetrics())
      .split('\n')
      .filter((line) => /^\w+/.exec(line)?.[0] === metric && line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }
  return { ...served, read }
}
