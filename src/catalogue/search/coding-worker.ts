import { parentPort } from 'node:worker_threads'
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
  /** The packed index. */
  readonly memory: SharedArrayBuffer
  /** The revision of the index: a thread opens each index once. */
  readonly revision: string
  readonly items: readonly CodingItem[]
}

export interface CodingResult {
  readonly number: number
  readonly codings: readonly Coding[]
}

let opened: { readonly revision: string; readonly search: OccupationSearch } | undefined

parentPort?.on('message', ({ number, memory, revision, items }: CodingOrder) => {
  if (opened?.revision !== revision) opened = { revision, search: open(memory) }
  const { search } = opened
  const result: CodingResult = { number, codings: items.map((item) => codeTitle(search, item)) }
  parentPort?.postMessage(result)
})

function open(memory: SharedArrayBuffer): OccupationSearch {
  const index = openIndex(memory)
  if (index === undefined) throw new Error('the index cannot be opened')
  return new OccupationSearch(index)
}
