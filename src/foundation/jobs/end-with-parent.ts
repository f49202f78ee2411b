import { Worker } from 'node:worker_threads'

/** A thread of its own, because the event loop of the process may be blocked for as long as its work takes. */
const WATCH = `
const { rmSync } = require('node:fs')
const { workerData: { parent, folder } } = require('node:worker_threads')
setInterval(() => {
  if (process.ppid === parent) return
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  process.kill(process.pid, 'SIGKILL')
}, 500)`

/**
 * Ends this process soon after its parent has ended, also in the middle of synchronous code.
 *
 * @param folder that of its temporary files, which are then deleted
 */
export function endWithParent(folder?: string): void {
  const watch = new Worker(WATCH, {
    eval: true,
    workerData: { parent: process.ppid, folder },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
  })
  watch.unref()
}
