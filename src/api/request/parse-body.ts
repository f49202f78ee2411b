import { MAX_CHECKED_RECORD, MAX_DEPTH, TOO_DEEP } from '../../engines/records/index.ts'
import { parseExactJson } from '../../foundation/text/exact-json.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { TimedTurns } from '../../foundation/timed-turns.ts'
import { Problem } from '../contract/problems.ts'
import type { BodyMemory } from './body-memory.ts'

/** The most values of a JSON body, with those inside of others: each needs more memory than text. */
const MAX_VALUES = 250_000

/** The largest part of a body that is parsed at once, in bytes: as large as a record of a file may be. */
const MAX_PART = MAX_CHECKED_RECORD

/** Bytes that are looked through before the time is asked for. */
const LOOKED_THROUGH = 4096

/**
 * Parses a JSON object, and lets others have turns: the time that a text takes depends on its content, up to 100 ms for
 * a megabyte. The items of the lists that are its fields, such as the records of a batch, are parsed one after the
 * other; each of them, and everything else together, is small.
 *
 * @throws {Problem} `malformed-body` or `content-too-large`
 */
export async function parseBody(bytes: Buffer, memory: BodyMemory): Promise<unknown> {
  const turns = new TimedTurns()
  const { values, depth, items } = await measure(bytes, turns)
  if (values > MAX_VALUES)
    throw tooLarge(`has more than ${formatNumber(MAX_VALUES)} values, the most that are allowed`)
  if (depth > MAX_DEPTH) throw new Problem('malformed-body', `The body ${TOO_DEEP}.`)
  memory.parse(values)
  if (bytes.length <= MAX_PART) {
    const text = decode(bytes)
    if (text.trim() === '') throw new Problem('malformed-body', 'The body is empty. Send one JSON object.')
    return parse(text)
  }

  if (bytes.length - items.reduce((sum, [from, to]) => sum + to - from, 0) - items.length > MAX_PART)
    throw tooLarge(`has more than ${MAX_PART / 1024} KiB outside of the items of its lists`)
  // The items are replaced by their numbers. If that is well-formed, and each item is, then the whole is.
  const outline: Buffer[] = []
  let end = 0
  for (const [number, [from, to]] of items.entries()) {
    if (to - from > MAX_PART)
      throw tooLarge(`has an item of more than ${MAX_PART / 1024} KiB, the most that is allowed`)
    outline.push(bytes.subarray(end, from), Buffer.from(`${number}`))
    end = to
    if (turns.isOver) await turns.take()
  }
  outline.push(bytes.subarray(end))
  await turns.take()
  const body = parse(decode(Buffer.concat(outline))) as Record<string, unknown>
  for (const list of Object.values(body)) {
    if (!Array.isArray(list)) continue
    for (const [index, number] of list.entries()) {
      const [from, to] = items[number as number] ?? [0, 0]
      list[index] = parse(decode(bytes.subarray(from, to), true))
      if (turns.isOver) await turns.take()
    }
  }
  return body
}

function tooLarge(what: string): Problem {
  return new Problem('content-too-large', `The body ${what}.`)
}

/** @param isInside whether a byte order mark at the start is a part of the text */
function decode(bytes: Buffer, isInside = false): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: isInside }).decode(bytes)
  } catch {
    throw new Problem('malformed-body', 'The body is not UTF-8.')
  }
}

function parse(text: string): unknown {
  try {
    return parseExactJson(text)
  } catch {
    throw new Problem('malformed-body', 'The body is not well-formed JSON.')
  }
}

/** Where an item begins, and where it ends. */
type Span = readonly [from: number, to: number]

/**
 * About how many values a JSON text has, up to the most that are allowed, from the commas and opening brackets outside
 * of its strings, how deep they are nested, and where the items of the lists are that are fields of the whole.
 */
async function measure(
  bytes: Buffer,
  turns: TimedTurns,
): Promise<{ values: number; depth: number; items: Span[] }> {
  let values = 1
  let depth = 0
  let open = 0
  let isObject = false
  /** Where the current item begins, in a list that is a field of the whole. */
  let from: number | undefined
  /** Whether there is nothing but white space since then. */
  let isBlank = false
  let first = 0
  const items: Span[] = []
  let checked = 0
  // The positions of more items than a body may have could fill the memory.
  for (let at = 0; at < bytes.length && values <= MAX_VALUES; at++) {
    if (at - checked >= LOOKED_THROUGH) {
      checked = at
      if (turns.isOver) await turns.take()
    }
    const byte = bytes[at] ?? 0
    if (byte === COMMA) {
      values++
      if (open === 2 && from !== undefined) {
        items.push([from, at])
        from = at + 1
      }
    } else if (byte === BRACKET || byte === BRACE) {
      values++
      open++
      if (open > depth) depth = open
      if (open === 1) isObject = byte === BRACE
      if (open === 2) from = isObject && byte === BRACKET ? at + 1 : undefined
      if (open === 2) first = items.length
      isBlank = open === 2
    } else if (byte === BRACKET_END || byte === BRACE_END) {
      if (open === 2 && from !== undefined && (items.length > first || !isBlank)) items.push([from, at])
      if (open === 2) from = undefined
      open--
    } else if (byte === QUOTE) {
      isBlank = false
      at = bytes.indexOf(QUOTE, at + 1)
      while (at !== -1 && isEscaped(bytes, at)) {
        at = bytes.indexOf(QUOTE, at + 1)
        if (at - checked < LOOKED_THROUGH) continue
        checked = at
        if (turns.isOver) await turns.take()
      }
      if (at === -1) break
    } else if (byte > SPACE) isBlank = false
  }
  return { values, depth, items }
}

const COMMA = 0x2c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const BRACE = 0x7b
const BRACE_END = 0x7d
const QUOTE = 0x22
/** The largest byte of white space; in JSON, no smaller one is anything else. */
const SPACE = 0x20
const BACKSLASH = 0x5c

/** Whether an odd number of backslashes precedes a byte. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let before = at
  while (bytes[before - 1] === BACKSLASH) before--
  return (at - before) % 2 === 1
}
