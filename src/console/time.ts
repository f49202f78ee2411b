import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { lastDayOf } from '../foundation/text/zoned-time.ts'
import { html, type VNode } from './html.ts'

/** The time zone in which pages show instants. */
export const TimeZone = createContext('UTC')

interface TimeProperties {
  /** An instant as RFC 3339; nothing is shown without one. */
  readonly at: string | undefined
  /** Its zone; by default that of the pages. */
  readonly zone?: string | undefined
}

/** A component that shows an instant in words. */
function timeIn(words: (at: string, zone: string, pages: string) => string) {
  return ({ at, zone }: TimeProperties): VNode | null => {
    const pages = useContext(TimeZone)
    return at === undefined ? null : html`<time datetime=${at}>${words(at, zone ?? pages, pages)}</time>`
  }
}

const Time = timeIn(formatTime)

/** The day of an instant: `23 Nov 2026`. */
export const Day = timeIn(formatDay)

/**
 * The end of a period: the last day of it if it ends at midnight, and otherwise the instant, with its zone if that is
 * another one than the foot of the page names.
 */
export const Until = timeIn((at, zone, pages) => {
  const last = lastDayOf(Date.parse(at), zone)
  if (last !== undefined) return formatDay(new Date(last).toISOString(), zone)
  return zone === pages ? formatTime(at, zone) : `${formatTime(at, zone)} (${zone.replace('_', ' ')})`
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
