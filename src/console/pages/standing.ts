import type * as types from '../../../client/src/types.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { html, type VNode } from '../html.ts'
import { Day, Until } from '../time.ts'

type Standing = NonNullable<types.OwnReturn['returnStatus']>

/** How far an organisation can be with a return, what is done last first, with the style of its part of a bar. */
export const STANDINGS: readonly (readonly [standing: Standing, name: string, style: string])[] = [
  ['Submitted', 'Submitted', 'done'],
  ['Ready', 'Ready to submit', 'good'],
  ['Incomplete', 'Not fully checked', 'error'],
  ['HasErrors', 'Has errors', 'error'],
  ['Validating', 'Being checked', 'soft'],
  ['FilesReceived', 'Files received', 'soft'],
  ['Reopened', 'Reopened', 'soft'],
  ['NotStarted', 'Not started', 'none'],
]

/** How far somebody is, in words. */
export const nameStanding = (standing: string): string => NAMES[standing] ?? standing

const NAMES = lookUp(Object.fromEntries(STANDINGS.map(([standing, name]) => [standing, name])))

/** How far an organisation is; what was opened again, until when and why. */
export function showStanding({
  returnStatus = 'NotStarted',
  reopenedUntil,
  reopenReason,
  timeZone,
}: types.OwnReturn): VNode | string {
  const name = nameStanding(returnStatus)
  if (reopenedUntil === undefined) return name
  return html`<strong class="warning">${name}</strong> <span class="soft">until <${Until} at=${reopenedUntil} zone=${timeZone} />${reopenReason !== undefined && `: ${reopenReason}`}</span>`
}

/** What the dates of a return mean for somebody who has not submitted it; nothing while it is open and not yet due. */
export function showWindow(
  { window, openWindowDate, timeZone }: types.OwnReturn,
  isSubmitted = false,
): VNode | false {
  if (window === 'NotOpen')
    return html`<span class="soft">opens <${Day} at=${openWindowDate} zone=${timeZone} /></span>`
  if (isSubmitted) return false
  if (window === 'Overdue') return html`<span class="tag error">overdue</span>`
  return window === 'Closed' && html`<span class="tag error">missed</span>`
}
