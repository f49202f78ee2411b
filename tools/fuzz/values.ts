import type { Random } from './random.ts'
import { NEAR, TEXTS } from './texts.ts'

/** What a parameter is to be taken for; `either` may be refused as well. */
export type Meaning =
  | { readonly as: 'value' | 'either'; readonly value: string }
  | { readonly as: 'fault' }
  | { readonly as: 'absent' }

/** A value as it stands in the query: one character for each byte. */
export interface Value {
  readonly raw: string
  readonly meaning: Meaning
}

/** The parts of JSON Schema that parameters use. */
export interface ParameterSchema {
  readonly type?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly default?: number | string
  readonly enum?: readonly string[]
  readonly items?: ParameterSchema
  readonly maxItems?: number
}

const FAULT: Meaning = { as: 'fault' }

/**
 * A value for a parameter, hostile as a rule.
 *
 * @param known values that the data has, so that filters and cursors hit something
 */
export function makeValue(random: Random, schema: ParameterSchema, known: readonly string[]): Value {
  if (random.chance(0.06)) return { raw: '', meaning: { as: 'absent' } }
  if (random.chance(0.1)) return { raw: breakEncoding(random), meaning: FAULT }
  if (schema.type === 'integer') return makeInteger(random, schema)
  if (schema.format === 'date-time') return makeTime(random, known)
  if (schema.items !== undefined) return makeList(random, schema.items, schema.maxItems ?? 30, known)
  if (schema.enum !== undefined) return makeChoice(random, schema.enum)
  return makeText(random, schema.maxLength ?? 8000, known)
}

/** Bytes of UTF-8, one character for each. */
export function toBytes(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** One of the ways to write a text in a query. */
export function encode(random: Random, text: string): string {
  switch (random.below(5)) {
    case 0:
      return [...Buffer.from(text)].map((byte) => hex(byte)).join('')
    case 1:
      return encodeURIComponent(text).replace(/%../g, (each) => each.toLowerCase())
    case 2:
      return encodeURIComponent(text).replaceAll('%20', '+')
    case 3:
      // Characters that mean nothing in a query may stand there as they are.
      return encodeURIComponent(text).replace(
        /%(?:2F|3A|3F|40|24|2C|3B|5B|5D|7B|7C|7D|22|3C|3E|5C|5E|60)/g,
        decodeURIComponent,
      )
    default:
      return encodeURIComponent(text)
  }
}

function hex(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** What is no percent-encoded UTF-8: cut off, overlong, half of a surrogate pair, Latin-1, bytes as they are. */
const BROKEN = [
  '%',
  '%4',
  '%zz',
  '%%',
  '%u0101',
  '%uD83D%uDE00',
  '%E0%A4',
  '%C4',
  '%80',
  '%FF',
  '%FE%FF',
  '%E9',
  '%C0%80',
  '%C1%BF',
  '%E0%80%AF',
  '%ED%A0%80',
  '%ED%B0%80',
  '%ED%A0%BD%ED%B8%80',
  '%F0%9F%98',
  '%F5%80%80%80',
  '%F8%88',
  ...['\xe9', '\xc4\x81', '\xf0\x9f\x98\x80', '\xff', '\x80', '\xed\xa0\x80'],
]

export function breakEncoding(random: Random): string {
  const whole = random.pick(['', 'a', '5', 'C100', '%C4%81'])
  const broken = random.pick(BROKEN)
  // What follows must not complete it.
  return random.chance(0.5) ? whole + broken : `${broken}-${whole}`
}

const INTEGER_FAULTS = [
  '-1',
  '-2147483648',
  '2147483648',
  '4294967297',
  '9007199254740993',
  '9223372036854775808',
  '9'.repeat(30),
  '9'.repeat(1000),
  `1${'0'.repeat(400)}`,
  '+5',
  '5.0',
  '5.',
  '.5',
  '1e1',
  '1E1',
  '0x10',
  '0b1',
  '0o7',
  ' 5',
  '5 ',
  '1 0',
  '1_0',
  '1,0',
  '5;',
  '--5',
  '-',
  'five',
  'NaN',
  'Infinity',
  '-Infinity',
  'null',
  'true',
  '[]',
  '{}',
  '[5]',
  '\u0665',
  '\uff15',
  '\u00bd',
  '\u00b2',
  '5\u0000',
  '\u00005',
  '\u202e5',
  '\ufeff5',
  '5\u0304',
  '\ud835\udfd3',
]

function makeInteger(
  random: Random,
  { minimum = 0, maximum = 2 ** 31 - 1, default: usual }: ParameterSchema,
): Value {
  if (random.chance(0.4)) return { raw: encode(random, random.pick(INTEGER_FAULTS)), meaning: FAULT }
  const number = random.weigh([
    [3, random.between(minimum, Math.min(maximum, 200))],
    [1, random.pick([minimum, minimum + 1, Number(usual ?? minimum), maximum - 1, maximum])],
    [1, random.pick([minimum - 1, maximum + 1, 0, -0])],
    [1, random.between(minimum, maximum)],
  ])
  if (number < minimum || number > maximum) return { raw: encode(random, `${number}`), meaning: FAULT }
  // The interface doesn't tell whether 05 is a whole number.
  if (random.chance(0.05))
    return { raw: encode(random, `00${number}`), meaning: { as: 'either', value: `${number}` } }
  return { raw: encode(random, `${number}`), meaning: { as: 'value', value: `${number}` } }
}

function makeChoice(random: Random, allowed: readonly string[]): Value {
  const choice = random.pick(allowed)
  if (random.chance(0.6)) return { raw: encode(random, choice), meaning: { as: 'value', value: choice } }
  const text = random.chance(0.5) ? random.pick(NEAR)(choice) : random.pick(TEXTS)
  if (text === '') return { raw: '', meaning: { as: 'absent' } }
  return { raw: encode(random, text), meaning: allowed.includes(text) ? { as: 'value', value: text } : FAULT }
}

/** Items separated by commas, now and then too many, or an empty one. */
function makeList(random: Random, items: ParameterSchema, most: number, known: readonly string[]): Value {
  const count = random.weigh([
    [6, random.between(1, 4)],
    [1, random.between(1, most)],
    [1, most + random.between(1, 20)],
  ])
  const values = Array.from({ length: count }, () =>
    items.enum === undefined
      ? makeText(random, items.maxLength ?? 64, known)
      : makeChoice(random, items.enum),
  )
  const raw = values.map((value) => value.raw).join(',')
  if (raw === '') return { raw, meaning: { as: 'absent' } }
  // What stands for one item may hold a comma of its own: read the whole again.
  const texts = values
    .map(({ meaning }) => ('value' in meaning ? meaning.value : ''))
    .flatMap((text) => text.split(','))
  const isFault =
    texts.length > most || texts.includes('') || values.some(({ meaning }) => meaning.as !== 'value')
  if (isFault) return { raw, meaning: count > most ? FAULT : { as: 'either', value: texts.join(',') } }
  return { raw, meaning: { as: 'value', value: texts.join(',') } }
}

function makeText(random: Random, maxLength: number, known: readonly string[]): Value {
  const text = random.weigh([
    [4, () => random.pick(known)],
    [3, () => random.pick(NEAR)(random.pick(known))],
    [3, () => random.pick(TEXTS)],
    [1, () => random.pick(known) + random.pick(TEXTS)],
    [1, () => fill(random, maxLength)],
    [1, () => String.fromCodePoint(random.below(0xd800), random.between(0xe000, 0x10ffff))],
  ])()
  return { raw: encode(random, text), meaning: readText(text, maxLength) }
}

/** About as long as is taken, in units that count differently before and after normalisation. */
function fill(random: Random, maxLength: number): string {
  const unit = random.pick(['a', '\u0101', 'a\u0304', '\u{1f600}', '\u0958', '\u00a0', ' ', '%'])
  const length = random.pick([maxLength - 1, maxLength, maxLength + 1, maxLength * 2, 1000, 3000, 9000])
  return unit.repeat(length).slice(0, length).toWellFormed()
}

/** Text is taken as NFC; control characters are not, apart from tabs and line ends. */
function readText(text: string, maxLength: number): Meaning {
  if ([...text].some((character) => /\p{Cc}/u.test(character) && !'\t\n\r'.includes(character))) return FAULT
  const value = text.normalize('NFC')
  return [...value].length > maxLength ? FAULT : value === '' ? { as: 'absent' } : { as: 'value', value }
}

const TIME_FAULTS = [
  '2026',
  '2026-01',
  '2026-01-31',
  '09:30:00',
  '2026-01-31T09:30',
  '2026-1-31T09:30:00Z',
  '20260131T093000Z',
  ...['2026-02-29T00:00:00Z', '2026-00-10T00:00:00Z', '2026-13-01T00:00:00Z', '2026-04-31T00:00:00Z'],
  ...['2026-01-31T24:00:00Z', '2026-01-31T23:60:00Z', '2026-01-31T23:59:61Z', '2026-06-30T12:59:60Z'],
  '2026-01-31T09:30:00.Z',
  '2026-01-31T09:30:00,5Z',
  '2026-01-31T09:30:00+24:00',
  '2026-01-31T09:30:00+00:60',
  ...['2026-01-31T09:30:00+0100', '2026-01-31T09:30:00+1', '2026-01-31T09:30:00ZZ', '2026-01-31T09:30:00 Z'],
  '12026-01-31T09:30:00Z',
  '-2026-01-31T09:30:00Z',
  '2026-01-31_09:30:00Z',
  ' 2026-01-31T09:30:00Z',
  '1769851800',
  '2026-01-31T09:30:00Z ',
  '\u0662026-01-31T09:30:00Z',
  '2026-01-31T09:30:00\u2212 01:00',
  'now',
  'yesterday',
  'NaN',
  '2026-01-31T09:30:00Z\u0000',
  '2026\u201001\u201031T09:30:00Z',
  `2026-01-31T09:30:00${'0'.repeat(500)}Z`,
]
const TIMES = [
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-23:59',
  ...['0000-01-01T00:00:00+23:59', '1969-12-31T23:59:59Z', '1970-01-01T00:00:00Z', '2024-02-29T00:00:00Z'],
  '2016-12-31T23:59:60Z',
  '2016-12-31T15:59:60.5-08:00',
  '2038-01-19T03:14:08Z',
  '2026-01-31T09:30:00-00:00',
]

/** Known times are the dates that records have, so that bounds fall on them and just beside. */
function makeTime(random: Random, known: readonly string[]): Value {
  if (random.chance(0.25)) return { raw: encode(random, random.pick(TIME_FAULTS)), meaning: FAULT }
  const text = random.chance(0.1) ? random.pick(TIMES) : writeTime(random, Date.parse(random.pick(known)))
  // The + of an offset may come as it is, and is then read as a space.
  const raw = random.chance(0.3) ? encodeURIComponent(text).replaceAll('%2B', '+') : encode(random, text)
  return { raw, meaning: { as: 'value', value: text } }
}

function writeTime(random: Random, base: number): string {
  const milliseconds = base + random.pick([-86_400_000, -1000, -1, 0, 0, 0, 1, 1000, 86_400_000])
  const offset = random.pick(['', 'Z', 'z', 0, 60, 345, 780, -570, 1439, -1439])
  const minutes = typeof offset === 'number' ? offset : 0
  const local = new Date(milliseconds + minutes * 60_000).toISOString()
  const fraction =
    local.slice(20, 23) + random.pick(['', '', '0', '000', '1', '0001', '999', `${'0'.repeat(40)}1`])
  const shown = /^0*$/.test(fraction) && random.chance(0.5) ? '' : `.${fraction}`
  return `${local.slice(0, 10)}${random.pick(['T', 't', ' '])}${local.slice(11, 19)}${shown}${writeOffset(offset)}`
}

function writeOffset(offset: string | number): string {
  if (typeof offset === 'string') return offset
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
  return `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
}

/** The instant that a valid date-time names: whole milliseconds, and whether a part of one is left over. */
export function readTime(text: string): { milliseconds: number; rest: boolean } {
  const [, date = '', clock = '', second = '', digits = '', offset = ''] =
    /^(\d{4}-\d\d-\d\d).(\d\d:\d\d:)(\d\d)(?:\.(\d+))?(.*)$/.exec(text) ?? []
  const leap = second === '60'
  const zone = offset === '' ? 'Z' : offset.toUpperCase()
  const whole = Date.parse(`${date}T${clock}${leap ? '59' : second}${zone}`)
  if (leap) return { milliseconds: whole + 1000, rest: false }
  return {
    milliseconds: whole + Number(digits.slice(0, 3).padEnd(3, '0')),
    rest: /[1-9]/.test(digits.slice(3)),
  }
}
