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
  return `${showLocal(time, zone)} (${zone}; ${formatTimestamp(time)})`
}

/** An instant for people: `31 Jan 2026, 17:00`. By default in the time zone of this machine. */
export function showLocal(time: number, zone?: string): string {
  return new Intl.DateTimeFormat('en-NZ', {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(time)
}

/** The day of an instant for people: `31 Jan 2026`. */
export function showDay(time: number, zone = 'UTC'): string {
  return new Intl.DateTimeFormat('en-NZ', {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
  }).format(time)
}

/** The end of a period for people: `31 Jan 2026 (Pacific/Auckland; 2026-01-31T11:00:00.000Z)` if it ends with a day. */
export function showEnd(time: number, zone: string): string {
  const day = lastDayOf(time, zone)
  return day === undefined
    ? showInstant(time, zone)
    : `${showDay(day, zone)} (${zone}; ${formatTimestamp(time)})`
}

/** An instant in the last day of a period that ends at midnight of a zone; `undefined` if it ends at another time. */
export function lastDayOf(end: number, zone: string): number | undefined {
  return readLocal(end, zone) % DAY === 0 ? end - DAY / 2 : undefined
}

/** The milliseconds of a date-time with an offset. Without one, it is `undefined`: it could be UTC or a local time. */
export function readInstant(text: string): number | undefined {
  return /[Zz]$|[+-]\d{2}:\d{2}$/.test(text) ? parseTimestamp(text)?.milliseconds : undefined
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
  if (date === undefined) return readInstant(text)
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
