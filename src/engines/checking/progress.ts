import { showLine } from '../../foundation/command-line/terminal.ts'
import { count } from '../../foundation/text/format-number.ts'
import type { EngineProgress } from './engine/check-files.ts'

/** Shows the progress of a check on a terminal, and nothing in a pipe. */
export class CheckProgress {
  readonly #visible = process.stderr.isTTY === true

  readonly show = (progress: EngineProgress): void => {
    if (this.#visible) showLine(describe(progress))
  }

  stop(): void {
    if (this.#visible) showLine('')
  }
}

function describe(progress: EngineProgress): string {
  switch (progress.phase) {
    case 'read':
      return `Reading ${progress.file}: ${count(progress.records, 'record')}`
    case 'rule':
      return `Running rule ${progress.code}`
    case 'write':
      return 'Writing the findings'
  }
}
