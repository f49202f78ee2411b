import { parentPort, workerData } from 'node:worker_threads'
import { BodyMemory } from '../../src/api/request/body-memory.ts'
import { parseBody } from '../../src/api/request/parse-body.ts'
import { Budget } from '../../src/foundation/budget/budget.ts'

const budget = new Budget({ capacity: 2 ** 30, detail: '', retryAfter: 1 })
const memory = new BodyMemory(budget, 'a', () => undefined)
try {
  await parseBody(Buffer.from(`${workerData}${'{},'.repeat(2_700_000)}{}]}`), memory)
  parentPort?.postMessage('parsed')
} catch (error) {
  parentPort?.postMessage(error instanceof Error ? error.message : 'failed')
}
