import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../database/open.ts'
import { loadIndex } from './index-store.ts'

/** The input and the result of the worker thread. */
export interface IndexOrder {
  readonly databaseUrl: string
}

export interface IndexResult {
  readonly memory: SharedArrayBuffer
  /** Why the index could not be stored. */
  readonly unstored?: string
}

const { databaseUrl } = workerData as IndexOrder
const database = await openDatabase(databaseUrl, {
  existing: true,
  poolSize: 1,
  applicationName: 'mahi-index',
})
try {
  let unstored: string | undefined
  const memory = await loadIndex(database, (error) => {
    unstored = error instanceof Error ? error.message : String(error)
  })
  const result: IndexResult = { memory, ...(unstored !== undefined && { unstored }) }
  parentPort?.postMessage(result)
} finally {
  await database.close()
}
