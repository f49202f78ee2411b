import { appendFileSync } from 'node:fs'
import type { Reporter, TestCase } from 'vitest/node'

/** Names each test that passed only in its second try: on standard error, and in the file RETRIED, if that is set. */
export class RetryReporter implements Reporter {
  readonly #retried: string[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky)
      this.#retried.push(`${test.project.name} ${test.module.relativeModuleId} > ${test.fullName}`)
  }

  onTestRunEnd(): void {
    const lines = this.#retried.map((name) => `Passed only in its second try: ${name}\n`).join('')
    process.stderr.write(lines)
    if (process.env.RETRIED) appendFileSync(process.env.RETRIED, lines)
  }
}
