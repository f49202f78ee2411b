import type { Client } from '../../client/src/index.ts'
import type { ResultsSummary, Submission, ValidationRun } from '../../client/src/types.ts'
import { EMPTY_RETURN, isEmptyReturn } from '../foundation/text/empty-return.ts'
import { count } from '../foundation/text/format-number.ts'
import { quoteForShell } from '../foundation/text/quote.ts'
import { ifOffered } from './service.ts'

/** Where a submission is, for the commands that continue with it. */
export interface Place {
  readonly url: string
  readonly eid: string
  readonly token: string
}

/** How far `submit` has come. It changes while the command runs. */
export interface Sending {
  stage: 'creating' | 'sending' | 'requesting' | 'waiting' | 'ended'
  /** The names of the files that have arrived. */
  readonly received: string[]
  /** The submission, once it is known. */
  token?: string
  /** The page of the submission in the console, if the service has the console; never rejects. */
  page?: Promise<string | undefined>
}

/** Says how to continue after the service has stopped responding; `undefined` if nothing has arrived. */
export async function adviseResumption(
  { stage, received, token = '', page }: Sending,
  place: Omit<Place, 'token'>,
): Promise<string | undefined> {
  if (stage === 'creating') return undefined
  if (stage === 'sending') {
    const names = received.length === 0 ? '' : `Received before that: ${received.join(', ')}. `
    return `${names}Run the same command again when the service runs`
  }
  if (stage === 'requesting')
    return 'All files were received, but perhaps not the request to check them. Run the same command again when the service runs'
  const state =
    stage === 'waiting'
      ? 'All files were received, and the check continues when the service runs again'
      : 'The check has ended'
  const shown = await page
  const console = shown === undefined ? '' : `, or open ${shown}`
  return `${state}. Then see the result with: ${fetchCommand({ ...place, token })}${console}`
}

/** The command that prints the findings of a submission. */
export function fetchCommand({ url, eid, token }: Place): string {
  return `mahi results fetch ${quoteForShell(url)} ${token} --eid ${quoteForShell(eid)}`
}

/** The most codes that a sentence lists. */
const MOST_CODES = 10

/** Says which warnings can be explained, and that the return is not submitted yet. */
export async function describeNextSteps(
  submissions: Client['submissions'],
  place: Place,
  run: ValidationRun,
  { submissionStatus, validationRun, files = [] }: Submission,
  { codes = [] }: ResultsSummary,
): Promise<string[]> {
  // Otherwise somebody has changed, submitted or deleted it meanwhile.
  if (submissionStatus !== 'Validated' || validationRun?.runId !== run.runId) return []
  const known = await ifOffered(() => submissions.explanations(place.token))
  if (known === undefined) return []
  const commandFor = (name: string, more = '') =>
    `mahi submissions ${name} ${place.token}${more} --url ${quoteForShell(place.url)} --eid ${quoteForShell(place.eid)}`
  const warnings = codes.flatMap(({ errorType, errorCode = '' }) =>
    errorType === 'Warning' ? [errorCode] : [],
  )
  const lines =
    warnings.length === 0
      ? []
      : [
          `Codes of the warnings: ${list(warnings)}.${warnings.length > MOST_CODES ? ` List all with: ${fetchCommand(place)}` : ''}`,
          `Explain those whose values are right with: ${commandFor('explain', ' CODE --reason Verified')}`,
        ]
  if ((run.errorCount ?? 0) > 0) return lines
  const open = (known.open ?? []).map(
    ({ code = '', findings = 0 }) => `${code} (${count(findings, 'finding')})`,
  )
  const before = open.length === 0 ? '' : ` Before it can be, explain ${list(open)}.`
  if (isEmptyReturn(files)) lines.push(EMPTY_RETURN)
  return [...lines, `The return is not submitted yet.${before} Submit it with: ${commandFor('submit')}`]
}

function list(names: readonly string[]): string {
  const others = names.length - MOST_CODES
  return names.slice(0, MOST_CODES).join(', ') + (others > 0 ? ` and ${others} more` : '')
}
