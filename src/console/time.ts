import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { lastDayOf } from '../foundation/text/zoned-time.ts'
import { html, type VNode } from './html.ts'

/** The time zone in which pages show instants. */
export const TimeZone = createContext('UTC')

/** A component that shows an instant, given as RFC 3339, in words; nothing without one. */
function timeIn(words: (at: string, zone: string) => string) {
  return ({ at }: { readonly at: string | undefined }): VNode | null => {
    const zone = useContext(TimeZone)
    return at === undefined ? null : html`<time datetime=${at}>${words(at, zone)}</time>`
  }
}

const Time = timeIn(formatTime)

/** The day of an instant: `23 Nov 2026`. */
export const Day = timeIn(formatDay)

/** The end of a period: the last day of it if it ends at midnight, and otherwise the instant. */
export const Until = timeIn((at, zone) => {
  const last = lastDayOf(Date.parse(at), zone)
  return last === undefined ? formatTime(at, zone) : formatDay(new Date(last).toISOString(), zone)
})

/** An instant for people: `23 Nov 2026, 15:12`. The foot of the page names the zone. */
export const showTime = (at: string | undefined): VNode | undefined =>
  at === undefined ? undefined : html`<${Time} at=${at} />`

function formatDay(at: string, zone: string): string {
  return formatTime(at, zone).replace(/,.*/, '')
}

function formatTime(at: string, zone: string): string {
  const parts = formatterOf(zone).formatToParts(new Date(at))
  const part = (name: string) => parts.find(({ type }) => type === name)?.value ?? ''
  return `${part('day')} ${part('month')} ${part('year')}, ${part('hour')}:${part('minute')}`
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known !== undefined) return known
  const formatter = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  formatters.set(timeZone, formatter)
  return formatter
}
