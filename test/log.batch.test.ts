import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { LineBatch } from '../src/api/telemetry/log.ts'

/** What writes lines for a reader that takes them when it is told to. */
class SlowOutput extends EventEmitter {
  text = ''
  #taken = 0

  write(text: string): boolean {
    this.text += text
    return true
  }

  flushSync(): void {}

  /** Takes everything that was written since. */
  take(): void {
    const bytes = Buffer.byteLength(this.text) - this.#taken
    this.#taken += bytes
    this.emit('write', bytes)
  }
}

const REQUEST = `{"operation":"occupations","filler":"${'x'.repeat(40_000)}"}\n`
const AUDIT = `{"audit":"refused","filler":"${'x'.repeat(40_000)}"}\n`

test('where nobody reads the log, request lines are dropped first, and audit lines are counted', () => {
  const output = new SlowOutput()
  const batch = new LineBatch(output, { requests: 200_000, others: 200_000 })
  const told: object[] = []
  batch.onRoom = (dropped) => void told.push(dropped)

  for (let count = 0; count < 10; count++) batch.writeRequest(REQUEST)
  expect(batch.dropped).toEqual({ request: 6, audit: 0, other: 0 })
  for (let count = 0; count < 10; count++) batch.write(AUDIT)
  expect(batch.dropped).toEqual({ request: 6, audit: 5, other: 0 })
  batch.write(AUDIT.replace('audit', 'other'))
  expect(batch.dropped).toEqual({ request: 6, audit: 5, other: 1 })
  expect(told).toEqual([])

  // Once there is room it is said, once.
  output.take()
  expect(told).toEqual([{ request: 6, audit: 5, other: 1 }])
  batch.writeRequest(REQUEST)
  output.take()
  expect(told).toHaveLength(1)
  expect(output.text.match(/refused/g)).toHaveLength(5)
  expect(output.text.match(/occupations/g)).toHaveLength(5)
})
