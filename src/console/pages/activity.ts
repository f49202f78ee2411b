import type * as types from '../../../client/src/types.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { count } from '../../foundation/text/format-number.ts'
import { type Context, get, type Route, type Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { readList } from '../lists.ts'
import { titlesOf } from '../rules.ts'
import { table } from '../table.ts'
import { showTime } from '../time.ts'
import { pathOf, readWorkbench, showStep, type Workbench } from './workbench.ts'

export const activityPages: readonly Route[] = [get('/submissions/:token/activity', showActivity)]

const PAGE_SIZE = 50

async function showActivity(context: Context): Promise<Shown> {
  const [workbench, { results, pager }] = await Promise.all([
    readWorkbench(context),
    readList<types.Activity>(context, pathOf(context, '/activity'), PAGE_SIZE),
  ])
  return showStep(workbench, undefined, {
    title: 'Activity',
    content: html`<h2>Activity</h2>
      ${table('Activity', results, [
        ['When', ({ time }) => showTime(time)],
        ['Who', ({ actor }) => actor?.name],
        ['What', (each) => describe(each, workbench)],
      ])}
      ${pager}`,
  })
}

/** The most activities that a page of the API has. */
const MOST = 100

/** Where the current files come from. */
export interface Origins {
  /** Who last sent a file or its records, and when. */
  readonly sent: ReadonlyMap<string, types.Activity>
  /** Who has repaired it since, unless that was undone. */
  readonly repaired: ReadonlyMap<string, types.Activity>
  /** Whether the newest change is a repair: only that can be undone. */
  readonly canUndo: boolean
}

export async function readOrigins(workbench: Workbench): Promise<Origins> {
  const { submission } = workbench
  const sent = new Map<string, types.Activity>()
  const repaired = new Map<string, types.Activity>()
  const undone = new Set<string>()
  let newest: string | undefined
  for (let page = 1; ; page++) {
    const { results = [], totalCount = 0 } = await workbench.api.call<types.ActivityPage>(
      pathOf(workbench, '/activity'),
      {
        query: { page, pageSize: MOST },
      },
    )
    for (const each of results) {
      const { event = '', file = '' } = each
      if (!/^(?:FileUploaded|RecordsChanged|FileRepaired|RepairUndone|Submitted)$/.test(event)) continue
      newest ??= event
      if (sent.has(file)) continue
      if (event === 'FileUploaded' || event === 'RecordsChanged') sent.set(file, each)
      else if (event === 'RepairUndone') undone.add(file)
      else if (event === 'FileRepaired' && !undone.delete(file) && !repaired.has(file))
        repaired.set(file, each)
    }
    const isWhole = page * MOST >= totalCount
    if (isWhole || submission.files?.every(({ file }) => sent.has(file)) === true)
      return { sent, repaired, canUndo: newest === 'FileRepaired' }
  }
}

/** Who sent a file, and who has repaired it since. */
export function showSender({ sent, repaired }: Origins, file: string): VNode {
  const repair = repaired.get(file)
  return html`${sent.get(file)?.actor?.name}${repair !== undefined && html`<div class="soft">repaired by ${repair.actor?.name}, ${showTime(repair.time)}</div>`}`
}

/** What each event is in words; `title` is that of its file. */
const EVENTS = lookUp<(activity: types.Activity, title: string) => string>({
  Created: () => 'Started the submission',
  FileUploaded: ({ records }, title) =>
    `Sent ${title}${records === undefined ? '' : `, ${count(records, 'record')}`}`,
  FileRepaired: (each, title) =>
    `Repaired ${title}: ${count(each.changes ?? 0, 'change')}. ${describeDigests(each)}`,
  RepairUndone: (each, title) => `Undid the repair of ${title}. ${describeDigests(each)}`,
  RecordsChanged: (_, title) => `Changed records of ${title}`,
  CheckRequested: ({ runId }) => `Requested check ${runId}`,
  CheckCancelled: ({ runId }) => `Cancelled check ${runId}`,
  Checked: ({ runId, errorCount = 0, warningCount = 0, stoppedCount }) =>
    `Check ${runId}: ${count(errorCount, 'error')}, ${count(warningCount, 'warning')}${stoppedCount === undefined ? '' : `, ${count(stoppedCount, 'rule')} stopped`}`,
  Explained: (each) => `Explained ${listCodes(each)}${describeReason(each)}`,
  ExplanationWithdrawn: (each) => `Withdrew the explanation of ${listCodes(each)}`,
  Submitted: () => 'Submitted',
  Reopened: (each) => `Reopened${describeReason(each)}`,
  Deleted: () => 'Deleted the submission',
  Downloaded: ({ file }, title) => `Downloaded ${file === 'findings' ? 'the findings' : title}`,
  Expired: (each) => `Deleted ${listDeleted(each)}: kept no longer`,
  Purged: () => 'The data was deleted',
})

const describeDigests = ({ digestBefore = '', digestAfter = '' }: types.Activity): string =>
  `SHA-256 ${digestBefore.slice(0, 8)}… → ${digestAfter.slice(0, 8)}…`

const describeReason = ({ reason }: types.Activity): string => (reason === undefined ? '' : `: ${reason}`)

/** A check that found nothing is deleted, too. */
function listDeleted({ files = 0, findings = 0 }: types.Activity): string {
  const deleted = [files > 0 && count(files, 'file'), findings > 0 && count(findings, 'finding')]
  return deleted.filter(Boolean).join(' and ') || 'its checks'
}

const listCodes = ({ codes = [] }: types.Activity): string => codes.join(', ')

function describe(activity: types.Activity, { rules }: Workbench): string {
  const { event = '', file = '' } = activity
  return EVENTS[event]?.(activity, titlesOf(rules).get(file) ?? file) ?? event
}
