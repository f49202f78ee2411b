import { setTimeout as sleep } from 'node:timers/promises'
import type { Case, Mode } from './case.ts'
import { assertAnswer } from './oracle.ts'
import type { Report } from './report.ts'
import { type Answer, Wire } from './wire.ts'

/** Longer than the service waits for the head of a request and takes to notice, in milliseconds. */
const PATIENCE = 90_000

const WHOLE = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'
/** Beginnings that any number of letters may follow. */
const PARTS = [
  'GET /li',
  'GET /livez HTTP/1.1\r\n',
  'GET /livez HTTP/1.1\r\nHost: a\r\nX-A: ',
  `${WHOLE}GET /readyz HTTP/1.1\r\n`,
]

/**
 * Opens connections on which a request begins and never ends: some say nothing more, the others a byte a second. Each
 * has to be told so, and closed.
 */
export async function askSlowly(port: number, count: number, mode: Mode, report: Report): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => askOne(port, index, mode, report)))
}

async function askOne(port: number, index: number, mode: Mode, report: Report): Promise<void> {
  const part = PARTS[index % PARTS.length] ?? ''
  const drips = Math.floor(index / PARTS.length) % 2 === 0
  const each: Case = {
    kind: 'requests that never end',
    what: drips ? 'a byte a second' : 'a part',
    steps: [{ send: part }],
    expected: [
      ...(part.startsWith(WHOLE) ? [{ method: 'GET', statuses: [200] }] : []),
      { method: 'GET', statuses: [408] },
    ],
    ends: true,
    alone: true,
  }
  const answers: Answer[] = []
  const wire = await Wire.open(port, PATIENCE)
  let done = false
  try {
    await wire.send(part)
    const drip = async () => {
      for (; drips && !done; await sleep(1000)) await wire.send('x')
    }
    void drip()
    for (const expected of each.expected ?? []) {
      const answer = await wire.read(false)
      if (answer === undefined) throw new Error('the connection ended without an answer')
      answers.push(answer)
      assertAnswer(answer, expected, mode)
    }
    await wire.ended()
    report.count(each, index, answers, 0)
  } catch (error) {
    report.fail(each, index, answers, (error as Error).message)
  } finally {
    done = true
    wire.destroy()
  }
}
