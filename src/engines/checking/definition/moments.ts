import { lookUp } from '../../../foundation/look-up.ts'
import { trimFraction } from './numbers.ts'
import { isDate } from './parameters.ts'

/** The parts of a date and time, as a format names them. */
interface Moment {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  /** With its point, or empty. */
  readonly fraction: string
  /** Such as `+13:00` or `Z`; empty without one. */
  readonly zone: string
}

export type MomentType = 'date' | 'time' | 'datetime'

const MONTHS = 'january february march april may june july august september october november december'.split(
  ' ',
)
const DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ')

const words = (names: readonly string[]) =>
  names.map((name) => `${name.slice(0, 3)}${name.length > 3 ? `(?:${name.slice(3)})?` : ''}`).join('|')

/**
 * The pattern of each directive, and an example. Those of two digits accept one, unless digits follow each other
 * without a separator.
 */
const DIRECTIVES = lookUp<readonly [pattern: string, example: string]>({
  a: [`(?:${words(DAYS)})`, 'Monday'],
  b: [`(?:${words(MONTHS)})`, 'February'],
  d: ['\\d{1,2}', '17'],
  f: ['\\d{1,6}', '5'],
  H: ['\\d{1,2}', '09'],
  I: ['\\d{1,2}', '09'],
  j: ['\\d{1,3}', '048'],
  m: ['\\d{1,2}', '02'],
  M: ['\\d{1,2}', '30'],
  p: ['[ap]m', 'AM'],
  S: ['\\d{1,2}', '00'],
  y: ['\\d{2}', '25'],
  Y: ['\\d{4}', '2025'],
  z: ['(?:z|[+-](?:0\\d|1[0-4]):?[0-5]\\d)', '+13:00'],
  Z: ['(?:utc|gmt|z)', 'UTC'],
})
/** Directives that stand for others; those of a locale are those of the locale C. */
const COMBINED = lookUp<string>({
  A: '%a',
  B: '%b',
  h: '%b',
  e: '%d',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
})

/** The directives of which a format of each type must contain one. */
const NEEDED = { date: ['%Y', '%y'], time: ['%H', '%I'], datetime: ['%Y', '%y'] } as const

/** The forms that `any` accepts: each of them has one meaning, which 03/04/2025 has not. */
const ANY_DATE = [
  '%Y-%m-%d',
  '%Y/%m/%d',
  '%Y.%m.%d',
  '%Y%m%d',
  '%Y-%m',
  '%Y',
  '%d %b %Y',
  '%d-%b-%Y',
  '%b %d, %Y',
  '%b %d %Y',
  '%b %Y',
]
const ANY_TIME = ['%H:%M', '%H:%M:%S', '%H:%M:%S.%f', '%I:%M %p', '%I:%M%p', '%I %p', '%I%p']

/**
 * Compiles a format of the standard, in the notation of strptime, such as `%d/%m/%Y`: the ISO form of a value, or
 * `undefined` if it does not have the format.
 *
 * @throws {SyntaxError} if a directive is unknown, or the format lacks a part of its type
 */
export function compileMoment(type: MomentType, format: string): (value: string) => string | undefined {
  if (format === 'any') return compileAny(type)
  const own = format.replace(/^fmt:/, '')
  const read = compileFormat(own)
  const directives = expand(own)
  if (!NEEDED[type].some((each) => directives.includes(each)))
    throw new SyntaxError(`has none of ${NEEDED[type].join(' and ')}`)
  return (value) => {
    const moment = read(value)
    return moment === undefined ? undefined : toIso(moment, type)
  }
}

function compileAny(type: MomentType): (value: string) => string | undefined {
  const times = ANY_TIME.flatMap((time) => [time, `${time}%z`, `${time} %z`])
  const formats =
    type === 'date'
      ? ANY_DATE
      : type === 'time'
        ? times
        : [
            ...ANY_DATE,
            ...ANY_DATE.flatMap((date) => times.flatMap((time) => [`${date} ${time}`, `${date}T${time}`])),
          ]
  const readers = formats.map(compileFormat)
  return (value) => {
    // 10th January, as people write it.
    const text = value.replace(/(\d)(?:st|nd|rd|th)\b/i, '$1')
    for (const read of readers) {
      const moment = read(text)
      if (moment !== undefined) return toIso(moment, type)
    }
    return undefined
  }
}

function expand(format: string): string {
  return format.replace(/%(.)/g, (whole, name: string) => COMBINED[name] ?? whole)
}

function compileFormat(format: string): (value: string) => Moment | undefined {
  const parts = expand(format).split(/(%.?)/)
  const names: string[] = []
  let source = ''
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0) source += part.split(/\s+/).map(RegExp.escape).join('\\s+')
    else if (part === '%%') source += '%'
    else {
      const name = part.slice(1)
      const [directive] = DIRECTIVES[name] ?? []
      if (directive === undefined) throw new SyntaxError(`has the unknown directive ${part}`)
      const isNextTo = (offset: number) =>
        parts[index + offset / 2] === '' &&
        DIRECTIVES[parts[index + offset]?.slice(1) ?? '']?.[0].startsWith('\\d') === true
      const isPacked = isNextTo(2) || isNextTo(-2)
      source += `(${isPacked ? directive.replace(/\{1,(\d)\}/, '{$1}') : directive})`
      names.push(name)
    }
  }
  if (names.length === 0) throw new SyntaxError('has no directive such as %Y')
  const pattern = new RegExp(`^${source}$`, 'i')
  return (value) => {
    const match = pattern.exec(value)
    return match === null ? undefined : toMoment(names, match)
  }
}

function toMoment(names: readonly string[], match: RegExpExecArray): Moment | undefined {
  const text = (name: string): string | undefined => {
    const at = names.indexOf(name)
    return at === -1 ? undefined : match[at + 1]
  }
  const number = (name: string, absent: number): number => Number(text(name) ?? absent)
  const short = text('y')
  // As POSIX says: 69 to 99 are the 20th century.
  const year = short === undefined ? number('Y', 1900) : Number(short) + (Number(short) < 69 ? 2000 : 1900)
  const named = text('b')?.slice(0, 3).toLowerCase()
  const month = named === undefined ? number('m', 1) : MONTHS.findIndex((each) => each.startsWith(named)) + 1
  const half = text('p')?.toLowerCase()
  const twelve = number('I', 12)
  if (names.includes('I') && (twelve < 1 || twelve > 12)) return undefined
  const hour = names.includes('I') ? (twelve % 12) + (half === 'pm' ? 12 : 0) : number('H', 0)
  const [minute, second] = [number('M', 0), number('S', 0)]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const zone = (text('z') ?? (text('Z') === undefined ? '' : 'Z')).toUpperCase()
  const fraction = text('f')
  const common = {
    year,
    hour,
    minute,
    second,
    fraction: fraction === undefined ? '' : `.${fraction}`,
    zone: zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone,
  }
  const dayOfYear = text('j')
  if (dayOfYear === undefined) return { ...common, month, day: number('d', 1) }
  const date = new Date(Date.UTC(2000, 0, 1))
  date.setUTCFullYear(year, 0, Number(dayOfYear))
  if (Number(dayOfYear) < 1 || date.getUTCFullYear() !== year) return undefined
  return { ...common, month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

const pad = (number: number, length = 2) => String(number).padStart(length, '0')

function toIso(moment: Moment, type: MomentType): string | undefined {
  const { year, month, day, hour, minute, second, fraction, zone } = moment
  const date = `${pad(year, 4)}-${pad(month)}-${pad(day)}`
  const time = `${pad(hour)}:${pad(minute)}:${pad(second)}${trimFraction(fraction)}`
  if (type === 'time') return time
  if (!isDate(date)) return undefined
  return type === 'date' ? date : `${date}T${time}${zone}`
}

/** A value that has a format, to show what is expected. */
export function showMoment(format: string): string {
  return expand(format.replace(/^fmt:/, '')).replace(/%(.)/g, (_, name: string) =>
    name === '%' ? name : (DIRECTIVES[name]?.[1] ?? ''),
  )
}

/** Seconds from the start of the year 0 to 1970, and a day: all instants have a positive number of digits. */
const TO_1970 = 62_167_219_200 + 86_400

/** An instant as seconds of a fixed width and a fraction. Without an offset, a time is UTC. */
export function toInstant(value: string): string {
  const [, before = '', fraction = '', zone = ''] =
    /^([^.Z+]*?)(\.\d+)?(Z|[+-]\d{2}:\d{2})?$/.exec(value) ?? []
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number)
  const offset = (zone.startsWith('-') ? -60 : 60) * (hours * 60 + minutes)
  const [date = '', time = ''] = before.split('T')
  const utc = new Date(`${date}T${time}Z`).getTime() / 1000
  return String(utc - offset + TO_1970).padStart(12, '0') + trimFraction(fraction)
}

const DURATION =
  /^(-?)P(?=[\dT])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/

export function isDuration(value: string): boolean {
  return DURATION.test(value)
}

/** The months and seconds of a duration: `P12M` is `P1Y`, and `PT24H` is `P1D`. */
function measureDuration(value: string): { months: number; seconds: number } {
  const [, minus = '', ...parts] = DURATION.exec(value) ?? []
  const [years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map((part) =>
    Number(part ?? 0),
  )
  const sign = minus === '' ? 1 : -1
  return {
    months: sign * (years * 12 + months) + 0,
    seconds: sign * (((days * 24 + hours) * 60 + minutes) * 60 + seconds) + 0,
  }
}

export function toDurationKey(value: string): string {
  const { months, seconds } = measureDuration(value)
  return `${months} ${seconds}`
}

/** Orders durations; a month has 30.436875 days, the mean of the calendar. */
export function compareDurations(one: string, other: string): number {
  const [first, second] = [one, other].map((value) => {
    const { months, seconds } = measureDuration(value)
    return months * 2_629_746 + seconds
  }) as [number, number]
  return first - second
}
