import type { ValidationRun } from '../../client/src/types.ts'
import { formatNumber } from '../foundation/text/format-number.ts'

/**
 * Says how far a run is, from the states that are seen of it: one line for each stage, and one for each file that has
 * been read.
 */
export function followRun(say: (line: string) => void): (run: ValidationRun) => void {
  const said = new Set<string>()
  const once = (key: string, line: string) => {
    if (said.has(key)) return
    said.add(key)
    say(line)
  }
  return ({ status, progress }) => {
    if (status === 'Queued') once('queued', 'The run is waiting for its turn.')
    if (status !== 'InProgress' || progress === undefined) return
    const { stage, files = [] } = progress
    const tellStage = () => stage !== undefined && once(`stage:${stage}`, `${stage}.`)
    const read = files.filter(({ done = 0, total = 0 }) => done >= total)
    // The stage after the last file comes after it.
    if (read.length < files.length) tellStage()
    for (const { file = '', total = 0 } of read)
      once(`file:${file}`, `${file}: ${formatNumber(total)} records read.`)
    tellStage()
  }
}
