import { loadavg } from 'node:os'

/** Above this load average, something else is running, and times mean little. */
const MOST = 1.5

/** The load average of the last minute. */
const loadNow = (): number => loadavg()[0] ?? 0

/** Ends the program if the machine is busy: what is measured then must not be written down. */
export function assertIdle(what: string): void {
  const load = loadNow()
  if (load <= MOST) return
  process.stderr.write(
    `The load average is ${load.toFixed(1)}: the machine is busy. ${what} is written only at ${MOST} or below. Wait until it is idle.\n`,
  )
  process.exit(1)
}
