import { parentPort, workerData } from 'node:worker_threads'
import {
  type Coding,
  type CodingItem,
  codeTitle,
  OccupationSearch,
  openIndex,
} from '../../engines/finding/index.ts'

/** Some titles to code. */
export interface CodingOrder {
  readonly number: number
  readonly items: readonly CodingItem[]
}

export interface CodingResult {
  readonly number: number
  readonly codings: readonly Coding[]
}

const index = openIndex(workerData as SharedArrayBuffer)
if (index === undefined) throw new Error('the index cannot be opened')
const search = new OccupationSearch(index)

parentPort?.on('message', ({ number, items }: CodingOrder) => {
  const result: CodingResult = { number, codings: items.map((item) => codeTitle(search, item)) }
  parentPort?.postMessage(result)
})
