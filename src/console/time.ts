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

/** An instant for people: `23 Nov 2026, 15:12`. The foot of the page names the zone. */
function Time({ at, zone }: TimeProperties): VNode | null {
  const pages = useContext(TimeZone)
  if (at === undefined) return null
  return html`<time datetime=${at}>${formatTime(at, zone ?? pages)}</time>`
}

export const showTime = (at: string | undefined): VNode | undefined =>
  at === undefined ? undefined : html`<${Time} at=${at} />`

/** The day of an instant: `23 Nov 2026`. */
export function Day({ at, zone }: TimeProperties): VNode | null {
  const pages = useContext(TimeZone)
  if (at === undefined) return null
  return html`<time datetime=${at}>${formatTime(at, zone ?? pages).split(', ')[0]}</time>`
}

/** The end of a period: the last day of it if it ends at midnight, and otherwise the instant. */
export function Until({ at, zone }: TimeProperties): VNode | null {
  const pages = useContext(TimeZone)
  if (at === undefined) return null
  const last = lastDayOf(Date.parse(at), zone ?? pages)
  if (last === undefined) return html`<${Time} at=${at} zone=${zone} />`
  const day = formatTime(new Date(last).toISOString(), zone ?? pages).split(', ')[0]
  return html`<time datetime=${at}>${day}</time>`
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
