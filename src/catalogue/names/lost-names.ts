import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { hasLostMarks } from '../records/lost-marks.ts'
import type { ReadName } from './files.ts'
import type { StoredName } from './names.ts'

/**
 * Finds the names that would replace a name of the same code, and differ from it only in lost macrons and other marks.
 * The language does not matter: a file that has lost its macrons may have lost that column too.
 *
 * @param removed the stored names that make room
 */
export function findLostNames(names: readonly ReadName[], removed: readonly StoredName[]): Fault[] {
  const byCode = Map.groupBy(removed, ({ code }) => code)
  return names.flatMap(({ occupationCode, text, locate }) => {
    const lost = byCode.get(occupationCode)?.find(({ name }) => hasLostMarks(name, text))
    if (lost === undefined) return []
    const message = `is ${quote(text)}, and would replace ${quote(lost.name)} of the source ${quote(lost.source)}: the file has lost its macrons. Save it as UTF-8, or give --accept-damaged if they are wrong`
    return [{ ...locate('name'), message }]
  })
}
