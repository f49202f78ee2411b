import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { Database } from '../../foundation/database/database.ts'
import { FaultList } from '../../foundation/faults/faults.ts'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import { normaliseText } from '../../foundation/text/normalise.ts'
import { quote } from '../../foundation/text/quote.ts'
import type { Retention } from '../history/revision-log.ts'
import { changeSearchData } from '../names/change-search-data.ts'
import { learnConfirmed } from '../names/names.ts'
import { describeMissing, findMissingCodes } from '../records/missing-codes.ts'
import {
  type Decision,
  type ReviewedTitle,
  readTitles,
  type State,
  storeDecisions,
  UNKNOWN,
} from './decisions.ts'

const ADVICE = `Decide on a code of the catalogue or on "${UNKNOWN}", or leave the decision empty`

/** The longest name of a reviewer, in characters. */
const MAX_REVIEWER_LENGTH = 100

/** The option of commands that store decisions. */
export function withReviewer(command: Command): Command {
  return command.option('--reviewer <name>', 'who decides; without it, the name of the user of this machine')
}

/** @throws {UserError} if the name is not one line, or this machine has no user name */
export function readReviewer(given: string | undefined): string {
  const name = normaliseText(given ?? findUserName())
  if (name !== '' && name.length <= MAX_REVIEWER_LENGTH && !/\p{C}|\p{Zl}|\p{Zp}/u.test(name)) return name
  throw new UserError(`--reviewer must be one line of 1 to ${MAX_REVIEWER_LENGTH} characters`)
}

function findUserName(): string {
  try {
    return userInfo().username
  } catch {
    throw new UserError('This machine has no name for its user. Give --reviewer')
  }
}

export interface Confirmed {
  /** Decisions that are new or differ from the reviewer's earlier ones. */
  readonly changed: number
  readonly titles: Readonly<Record<State, number>>
  readonly disputed: readonly ReviewedTitle[]
}

/**
 * Stores the decisions of a reviewer, all or none.
 *
 * @throws {InputRefused} with the decisions whose code the catalogue does not have
 * @throws {TooManyDecisions}
 */
export async function confirmDecisions(
  database: Database,
  reviewer: string,
  decisions: readonly (Decision & { readonly place?: Omit<Fault, 'message'> })[],
): Promise<Confirmed> {
  return await database.write('codings', async (writer) => {
    const missing = await findMissingCodes(
      writer,
      decisions.flatMap(({ code }) => code ?? []),
    )
    const faults = new FaultList()
    for (const { code, place } of decisions) {
      const found = missing.get(code ?? '')
      if (found !== undefined) faults.add([{ ...place, message: `${describeMissing(found)}. ${ADVICE}` }])
    }
    faults.throwIfFound()
    const changed = await storeDecisions(writer, reviewer, decisions)
    const reviewed = await readTitles(
      writer,
      decisions.map(({ title }) => title),
    )
    const titles = { confirmed: 0, disputed: 0, unknown: 0 }
    for (const { state } of reviewed) titles[state]++
    return { changed, titles, disputed: reviewed.filter(({ state }) => state === 'disputed') }
  })
}

/** Makes confirmed titles names now, as a new revision of the catalogue in which no record changes. */
export async function applyConfirmed(
  database: Database,
  retention: Retention,
): Promise<{ added: number; removed: number }> {
  return await changeSearchData(
    database,
    { command: 'codings apply', files: [] },
    retention,
    async (writer) => {
      const result = await learnConfirmed(writer)
      return { result, changed: result.added + result.removed > 0 }
    },
  )
}

/** What became of decisions, in sentences. */
export function describeConfirmed({ changed, titles, disputed }: Confirmed): string {
  const lines = disputed.map(
    ({ title, decisions }) =>
      `Disputed: ${quote(title)} is ${decisions
        .map(({ reviewer, code }) => `${code ?? UNKNOWN} for ${quote(reviewer)}`)
        .join(', ')}.`,
  )
  const { confirmed, unknown } = titles
  return [
    ...lines,
    `Stored ${count(changed, 'decision')}. Titles: ${confirmed} confirmed, ${disputed.length} disputed, ${unknown} unknown.`,
  ].join('\n')
}
