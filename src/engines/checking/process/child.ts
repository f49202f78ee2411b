// The child process of a check, which `run-child.ts` starts.
import { rmSync } from 'node:fs'
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'
import { serveOrder } from './serve-order.ts'

const parent = process.ppid
// Loaded while the parent prepares the order.
const engine = import('../engine/run.ts')

serveOrder<EngineInput, CheckSummary, EngineProgress>(async (input, show) => {
  // A killed parent cannot delete its files.
  process.once('exit', () => rmSync(input.folder, { recursive: true, force: true }))
  const { runEngine } = await engine
  return await runEngine(input, (progress) => {
    // The event loop is blocked during a check, so a killed parent is detected here.
    if (process.ppid !== parent) process.exit(1)
    show(progress)
  })
})
