import type * as types from '../../../client/src/types.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { html, type VNode } from '../html.ts'
import { Day, Until } from '../time.ts'

/** The words of a state, and its style; where somebody has something to do, it is a tag. */
type State = readonly [words: string, style: 'done' | 'good' | 'warning' | 'error' | 'soft' | 'none']

/** How far an organisation is with a return, in the order of the parts of a bar. */
const STANDING = {
  Submitted: ['Submitted', 'done'],
  Ready: ['No errors', 'good'],
  Incomplete: ['Not fully checked', 'error'],
  HasErrors: ['Has errors', 'error'],
  Validating: ['Being checked', 'soft'],
  FilesReceived: ['Not checked', 'soft'],
  Reopened: ['Reopened', 'warning'],
  NotStarted: ['Not started', 'none'],
} as const satisfies Readonly<Record<NonNullable<types.OwnReturn['returnStatus']>, State>>

/** All states that pages name, by what they are of. */
const STATES = {
  submission: lookUp<State>({ ...STANDING, Closed: ['Closed', 'soft'], Cancelled: ['Deleted', 'soft'] }),
  check: lookUp<State>({
    Queued: ['Waiting', 'soft'],
    InProgress: ['Running', 'soft'],
    Processed: ['Finished', 'done'],
    Halted: ['Stopped at a limit', 'error'],
    Cancelled: ['Cancelled', 'soft'],
    UnknownError: ['Failed', 'error'],
  }),
  window: lookUp<State>({
    Overdue: ['Overdue', 'error'],
    Missed: ['Missed', 'error'],
    Closed: ['Closed', 'soft'],
    NotOpen: ['Not open', 'soft'],
  }),
  organisation: lookUp<State>({ Active: ['Active', 'done'], Suspended: ['Suspended', 'error'] }),
  title: lookUp<State>({
    confirmed: ['Confirmed', 'done'],
    disputed: ['Disputed', 'warning'],
    unknown: ['Unknown', 'soft'],
  }),
}

type Kind = keyof typeof STATES

/** A state that this version does not know has its own name. */
const find = (kind: Kind, state: string): State => STATES[kind][state] ?? [state, 'soft']

export const nameState = (kind: Kind, state: string): string => find(kind, state)[0]

/** A state in its words. */
export function showState(kind: Kind, state: string): VNode {
  const [words, style] = find(kind, state)
  const isTag = style === 'good' || style === 'warning' || style === 'error'
  return html`<span class=${isTag ? `tag ${style}` : 'state'}>${words}</span>`
}

/** The states of a return, each with its words and its style. */
export const STANDINGS = Object.entries(STANDING).map(([standing, [name, style]]) => ({
  standing,
  name,
  style,
}))

/** The states of a kind, for a choice. */
export const listStates = (kind: Kind): readonly (readonly [state: string, words: string])[] =>
  Object.entries(STATES[kind]).map(([state, [words]]) => [state, words])

export const isPast = (at: string): boolean => Date.parse(at) <= Date.now()

/** How far a submission is. */
export function standingOf({
  submissionStatus,
  files = [],
  validationRun: { errorCount = 0, stoppedCount = 0 } = {},
  reopenedUntil,
}: Omit<types.Submission, 'files'> & { readonly files?: readonly object[] }): string {
  if (submissionStatus !== 'Pending' && submissionStatus !== 'Validated') return submissionStatus ?? ''
  if (reopenedUntil !== undefined) return 'Reopened'
  if (submissionStatus === 'Pending') return files.length === 0 ? 'NotStarted' : 'FilesReceived'
  return errorCount > 0 ? 'HasErrors' : stoppedCount > 0 ? 'Incomplete' : 'Ready'
}

/** How far an organisation is; what was opened again, until when and why. */
export function showStanding({
  returnStatus = 'NotStarted',
  reopenedUntil,
  reopenReason,
}: types.OwnReturn): VNode {
  const state = showState('submission', returnStatus)
  if (reopenedUntil === undefined) return state
  return html`${state} <span class="soft">until <${Until} at=${reopenedUntil} />${isPast(reopenedUntil) && ', not submitted again'}${reopenReason !== undefined && `: ${reopenReason}`}</span>`
}

/** What the dates of a return mean for somebody who has not submitted it; nothing while it is open and not yet due. */
export function showWindow({ window, openWindowDate, returnStatus }: types.OwnReturn): VNode | false {
  if (window === 'NotOpen') return html`<span class="soft">opens <${Day} at=${openWindowDate} /></span>`
  // What was opened again had been submitted, and has its own date.
  if (returnStatus === 'Submitted' || returnStatus === 'Reopened') return false
  if (window === 'Overdue') return showState('window', window)
  return window === 'Closed' && showState('window', 'Missed')
}
