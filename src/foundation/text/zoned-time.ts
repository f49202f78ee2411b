import { formatTimestamp, parseTimestamp } from './timestamp.ts'

/** Whether the runtime knows a time zone, such as `Pacific/Auckland`. */
export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-NZ', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** An instant for people, in a time zone, with the UTC instant: `31 Jan 2026, 17:00 (Pacific/Auckland; 2026-01-31T04:00:00.000Z)`. */
export function showInstant(time: number, zone: string): string {
  const shown = new Intl.DateTimeFormat('en-NZ', {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(time)
  return `${shown} (${zone}; ${formatTimestamp(time)})`
}

const LOCAL = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}))?$/
const DAY = 86_400_000

/**
 * Reads a date, a local time such as `2026-01-31 17:00`, or a date-time with an offset.
 *
 * @param end whether a date means the end of its day
 * @returns `undefined` if it is none of these, or does not exist in the time zone
 */
export function readZoned(text: string, zone: string, end: boolean): number | undefined {
  const [, date, time] = LOCAL.exec(text) ?? []
  if (date === undefined)
    return /[Zz]$|[+-]\d{2}:\d{2}$/.test(text) ? parseTimestamp(text)?.milliseconds : undefined
  if (time !== undefined) return findLocal(`${date}T${time}`, zone)
  const start = parseTimestamp(`${date}T00:00:00Z`)?.milliseconds
  if (start === undefined) return undefined
  const day = end ? new Date(start + DAY).toISOString().slice(0, 10) : date
  return findLocal(`${day}T00:00`, zone) ?? findLocal(`${day}T01:00`, zone)
}

/** The first instant at which clocks of the time zone show a local time; `undefined` if they skip it. */
function findLocal(local: string, zone: string): number | undefined {
  const wanted = parseTimestamp(`${local}:00Z`)?.milliseconds
  if (wanted === undefined) return undefined
  const offsets = [wanted - DAY, wanted + DAY].map((near) => readLocal(near, zone) - near)
  return offsets
    .map((offset) => wanted - offset)
    .filter((instant) => readLocal(instant, zone) === wanted)
    .sort((one, other) => one - other)[0]
}

/** What clocks of the time zone show at an instant, as if it were UTC. */
function readLocal(instant: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(instant)
  const part = (name: string) => Number(parts.find(({ type }) => type === name)?.value)
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
}
