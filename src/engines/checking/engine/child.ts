// The child process of a check, which `check-files.ts` starts.

import { serveOrder } from '../process/serve-order.ts'
import type { EngineInput, EngineProgress } from './run.ts'
import type { CheckSummary } from './summary.ts'

// Loaded while the parent prepares the order.
const engine = import('./run.ts')

serveOrder<EngineInput, CheckSummary, EngineProgress>(async (input, show) => {
  const { runEngine } = await engine
  return await runEngine(input, show)
})
