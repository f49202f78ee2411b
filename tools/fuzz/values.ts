import type { Random } from '../../test/support/random.ts'
import type { Schema } from './document.ts'
import { KNOWN } from './world.ts'

export function pick<Item>(random: Random, list: readonly Item[]): Item {
  const item = list[random.below(list.length)]
  if (item === undefined) throw new Error('there is nothing to pick from')
  return item
}

/** Texts that are easily mistaken for others, or that mean something to a program behind. */
const TEXTS: readonly string[] = [
  ...['\u0000', 'C100\u0000', '\u001f', '\u007f', '\u0085', 'a\tb', 'a\nb', '\r\nX-Injected: 1'],
  ...['\u200e', '\u202e', '\u2066', '\u200b', '\u2060', '\ufeff', '\u00a0', '\u3000', '\u2028', '\u00ad'],
  ...[
    ' ',
    '  ',
    '\u{1f600}',
    '\u{10ffff}',
    '\u{1f468}\u200d\u{1f469}',
    '\ufffe',
    '\uffff',
    '\ue000',
    '\ufffd',
  ],
  ...[
    'a\u0304',
    'ma\u0304',
    'M\u0101',
    'a\u0308',
    '\u212b',
    '\u1e9b\u0323',
    '\u1100\u1161',
    '\ufb1d',
    '\ufb03',
  ],
  ...['\u0130', '\u017f', '\u1e9e', `a${'\u0304'.repeat(30)}`, `a${'\u0301\u0304'.repeat(200)}`],
  ...["'", '"', "' or '1'='1", "'; drop table occupation; --", '%', '_', '*', '\\', '\\u0000', '$1'],
  ...[
    '{{7*7}}',
    '<script>alert(1)</script>',
    '../../../etc/hosts',
    'file:///etc/hosts',
    '%00',
    '%25',
    '%s%n',
  ],
  ...['__proto__', 'constructor', 'toString', 'null', 'undefined', 'NaN', '-1', '0', '[]', '{}', '`id`'],
  ...['[object Object]', '{"$ne":null}', '|| sleep 5', '&', '=', '#', '+', ';', ',', 'a,b', '&amp;'],
]

/** Ways to be nearly the same as a text. */
const NEAR: readonly ((text: string) => string)[] = [
  (text) => text.toLowerCase(),
  (text) => text.toUpperCase(),
  (text) => text.normalize('NFKD'),
  (text) => text.slice(0, -1).toWellFormed(),
  (text) => `${text}\u0000`,
  (text) => ` ${text} `,
  (text) => `\u202e${text}`,
  (text) => `${text}%`,
  (text) => text + text,
]

/** A text for a parameter or a field of this name: one that finds something, one nearly the same, or a hostile one. */
export function makeText(random: Random, name: string): string {
  const known = pick(random, KNOWN[name] ?? ['x', '1'])
  if (random.chance(0.75)) return known
  return random.chance(0.5) ? pick(random, NEAR)(known) : pick(random, TEXTS)
}

/** The text of a parameter's value that its schema permits. */
export function makeValid(random: Random, schema: Schema, name: string): string {
  if (schema.type === 'array') {
    const count = 1 + random.below(Math.min(3, schema.maxItems ?? 3))
    return Array.from({ length: count }, () => makeValid(random, schema.items ?? {}, name)).join(',')
  }
  if (schema.enum !== undefined) return pick(random, schema.enum)
  if (schema.type === 'boolean') return pick(random, ['true', 'false'])
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = 1_000 } = schema
    return String(pick(random, [minimum, maximum, minimum + random.below(maximum - minimum + 1)]))
  }
  if (schema.format === 'date-time') return pick(random, KNOWN['Filter.LastUpdatedAfter'] ?? [])
  return pick(random, KNOWN[name] ?? ['x', '1']).slice(0, schema.maxLength)
}

/** Texts that the schema of a parameter does not permit; empty if it permits all. */
export function listInvalid(schema: Schema): readonly string[] {
  if (schema.type === 'array')
    return [
      ...listInvalid(schema.items ?? {}),
      ...(schema.maxItems === undefined
        ? []
        : [Array.from({ length: schema.maxItems + 1 }, (_, at) => `C${at}`).join(',')]),
    ]
  if (schema.enum !== undefined) return ['none', ...schema.enum.map((each) => `${each}x`)]
  if (schema.type === 'boolean') return ['yes', '1', 'TRUE']
  if (schema.type === 'integer')
    return [
      ...['x', '1.5', ' 1', '1e1', '0x1', '+1', '٣', '99999999999999999999'],
      ...(schema.minimum === undefined ? [] : [String(schema.minimum - 1)]),
      ...(schema.maximum === undefined ? [] : [String(schema.maximum + 1)]),
    ]
  if (schema.format === 'date-time')
    return ['yesterday', '2024-02-30T00:00:00Z', '2025-01-01T24:61:00Z', '2025-13-01T00:00:00Z']
  return schema.maxLength === undefined ? [] : ['x'.repeat(schema.maxLength + 1)]
}

const deep = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
const ODD: readonly unknown[] = [
  ...[null, true, -1, 1.5, 1e300, '', [], {}, [[]], [null], deep(500), 'x'.repeat(50_000)],
  ...[
    JSON.parse('{"__proto__":{"a":1},"constructor":{}}'),
    { items: {} },
    { items: [null, 3, { title: 1 }] },
  ],
  ...[{ content: [1, null, [], { localId: 7 }] }, { returnId: [] }],
  { items: Array.from({ length: 301 }, () => ({ title: 'x' })) },
  { content: Array.from({ length: 3_000 }, (_, index) => ({ localId: `${index}` })) },
]

/** A value of a schema; with a probability, each part of it is an odd one. */
export function makeJson(random: Random, schema: Schema, name: string, odd: number): unknown {
  if (random.chance(odd)) return pick(random, ODD)
  if (schema.enum !== undefined) return pick(random, schema.enum)
  if (schema.type === 'array') {
    const count = pick(random, [0, 1, 1, 2, 5, 30])
    return Array.from({ length: count }, () => makeJson(random, schema.items ?? {}, name, odd / 3))
  }
  if (schema.type === 'integer' || schema.type === 'number') return random.below(10)
  if (schema.type === 'boolean') return random.chance(0.5)
  if (schema.type !== 'object') return makeText(random, name)
  const fields = Object.entries(schema.properties ?? {})
    .filter(([field]) => schema.required?.includes(field) === true || random.chance(0.4))
    .map(([field, value]) => [field, makeJson(random, value, field, odd / 3)])
  if (schema.additionalProperties === true || random.chance(0.05))
    fields.push([pick(random, ['NSN', 'toString', '', 'ā']), pick(random, ODD)])
  return Object.fromEntries(fields)
}

/** A body with some of its bytes changed, taken out or repeated. */
export function damage(random: Random, body: string): string {
  const at = random.below(body.length + 1)
  const end = at + random.below(20)
  return pick(random, [
    body.slice(0, at),
    body.slice(0, at) + body.slice(end),
    body.slice(0, end) + body.slice(at),
    `${body.slice(0, at)}${String.fromCharCode(random.below(256))}${body.slice(at)}`,
  ])
}
