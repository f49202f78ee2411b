import { compareCodePoints } from '../foundation/text/code-points.ts'
import type { Line } from './copy.ts'

/** The differences between two lists of records. */
export interface Differences {
  added: number
  changed: number
  removed: number
}

/**
 * Compares two lists of records, both ordered by code, and yields the second.
 *
 * @param counts the counts to add to
 */
export async function* compareLines(
  before: AsyncIterable<Line>,
  after: AsyncIterable<Line>,
  counts: Differences,
): AsyncGenerator<string> {
  const old = before[Symbol.asyncIterator]()
  let mine = await old.next()
  for await (const { code, text } of after) {
    while (mine.done !== true && compareCodePoints(mine.value.code, code) < 0) {
      counts.removed++
      mine = await old.next()
    }
    if (mine.done === true || mine.value.code !== code) {
      counts.added++
    } else {
      if (mine.value.text !== text) counts.changed++
      mine = await old.next()
    }
    yield text
  }
  for (; mine.done !== true; mine = await old.next()) counts.removed++
}

/** Applies changes to lines; both are ordered by code. A change without text is a removal. */
export async function* applyChanges(
  old: AsyncIterable<Line>,
  changes: readonly (readonly [code: string, text: string | undefined])[],
): AsyncGenerator<Line> {
  let index = 0
  for await (const line of old) {
    for (; index < changes.length; index++) {
      const [code = '', text] = changes[index] ?? []
      if (compareCodePoints(code, line.code) >= 0) break
      if (text !== undefined) yield { code, text }
    }
    const [code, text] = changes[index] ?? []
    if (code === line.code) {
      index++
      if (text !== undefined) yield { code, text }
    } else {
      yield line
    }
  }
  for (const [code, text] of changes.slice(index)) if (text !== undefined) yield { code, text }
}
