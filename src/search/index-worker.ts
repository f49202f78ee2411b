import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../database/open.ts'
import { loadIndex } from './index-store.ts'
import { Mutex } from './mutex.ts'

/** The input and the result of the worker thread. */
export interface IndexOrder {
  readonly databaseUrl: string
  /** The memory of a mutex that the thread holds while it has the database open. It is locked at the start. */
  readonly databaseInUse: SharedArrayBuffer
}

export interface IndexResult {
  readonly memory: SharedArrayBuffer
  /** Why the index could not be stored. */
  readonly unstored?: string
}

const { databaseUrl, databaseInUse } = workerData as IndexOrder
const mutex = new Mutex(databaseInUse)
let isFirst = true
let unstored: string | undefined
const memory = await loadIndex(
  async (use) => {
    if (!isFirst) mutex.lock()
    isFirst = false
    const database = await openDatabase(databaseUrl, {
      existing: true,
      poolSize: 1,
      applicationName: 'mahi-index',
    })
    try {
      return await use(database)
    } finally {
      await database.close()
      mutex.unlock()
    }
  },
  (error) => {
    unstored = error instanceof Error ? error.message : String(error)
  },
)
const result: IndexResult = { memory, ...(unstored !== undefined && { unstored }) }
parentPort?.postMessage(result)
