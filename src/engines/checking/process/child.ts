// The child process of a check, which `run-child.ts` starts.
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'
import { serveOrder } from './serve-order.ts'

// Loaded while the parent prepares the order.
const engine = import('../engine/run.ts')

serveOrder<EngineInput, CheckSummary, EngineProgress>(async (input, show) => {
  const { runEngine } = await engine
  return await runEngine(input, show)
})
