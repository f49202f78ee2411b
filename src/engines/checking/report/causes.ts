import { count } from '../../../foundation/text/format-number.ts'
import { quote } from '../../../foundation/text/quote.ts'

/** What is shown of a cause, of a check on this machine or from a service. */
export interface ShownCause {
  readonly severity?: string
  readonly findings?: number
  readonly learners?: number
  /** The file that it is said of. */
  readonly file?: string
  readonly sentence?: string
  readonly fix?: string
  /** The first of its findings. */
  readonly example?: { readonly file?: string; readonly line?: number; readonly value?: string }
}

/**
 * What is wrong and what to do, in one line: the sentence, with a value if it names none, and the fix.
 *
 * @param most the most characters of what is wrong; what to do is always whole
 */
export function describeCause(
  { file, sentence = '', example, fix = '' }: ShownCause,
  most = Number.POSITIVE_INFINITY,
): string {
  // What is wrong with a file may first be found in another one.
  const { value = '' } = example?.file === file ? (example ?? {}) : {}
  // A short value may be a number of records, or the name of a field.
  const isWord = value.length > 2 && hasWord(sentence, value)
  const isShown = value === '' || sentence.includes(quote(value)) || isWord
  const end = isShown ? '' : ` (${quote(value)}).`
  const own = sentence.endsWith(fix) ? sentence.slice(0, sentence.length - fix.length).trimEnd() : sentence
  const what = cutSentence(isShown ? own : own.replace(/\.$/, ''), most - end.length) + end
  return what.includes(fix) ? what : `${what} ${fix}`
}

/** The beginning of a sentence that is too long, without a part of a quoted value. */
function cutSentence(sentence: string, most: number): string {
  if (sentence.length <= most) return sentence
  const [whole = ''] = /^(?:[^"]|"(?:[^"\\]|\\.)*")*/.exec(sentence.slice(0, most)) ?? []
  return `${whole.toWellFormed()}…`
}

/** Whether a text has a value that is not a part of a word. */
function hasWord(text: string, value: string): boolean {
  const parts = text.split(value)
  return parts.some(
    (part, at) => at > 0 && !/[\p{L}\p{N}]$/u.test(parts[at - 1] ?? '') && !/^[\p{L}\p{N}]/u.test(part),
  )
}

/** Where the first finding of a cause is, such as `enrolments.csv:2`. */
export function placeOf({ example }: ShownCause): string {
  return example === undefined ? '' : `${example.file}:${example.line}`
}

/** A sentence if there are more causes than are shown, and nothing otherwise. */
export function describeRest(causes: readonly ShownCause[], shown: number): string[] {
  const rest = causes.slice(shown)
  if (rest.length === 0) return []
  const findings = rest.reduce((sum, { findings = 0 }) => sum + findings, 0)
  return [`And ${count(rest.length, 'more cause')} with ${count(findings, 'finding')}.`]
}
