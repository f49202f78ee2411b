import { appendFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestCase } from 'vitest/node'

/** The longest reason, in characters. */
const LONGEST = 2000

/**
 * Names each test that passed only in its second try, with the reason of the first one, in a line: on standard error,
 * and in the file RETRIED, if that is set.
 */
export class RetryReporter implements Reporter {
  readonly #retried: string[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return
    const reasons = (test.result().errors ?? []).map(({ message, diff = '' }) =>
      stripVTControlCharacters(`: ${message} ${diff}`).replaceAll(/\s+/g, ' ').slice(0, LONGEST),
    )
    const name = `${test.project.name} ${test.module.relativeModuleId} > ${test.fullName}`
    this.#retried.push(name + reasons.join(''))
  }

  onTestRunEnd(): void {
    const lines = this.#retried.map((name) => `Passed only in its second try: ${name}\n`).join('')
    process.stderr.write(lines)
    if (process.env.RETRIED) appendFileSync(process.env.RETRIED, lines)
  }
}
