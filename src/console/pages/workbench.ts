import type * as types from '../../../client/src/types.ts'
import { count } from '../../foundation/text/format-number.ts'
import type { Having } from '../api.ts'
import type { Context, Shown } from '../context.ts'
import { crumbs, html, type VNode } from '../html.ts'
import { link, type Query, submissionLink } from '../links.ts'
import { type Catalogue, readRules } from '../rules.ts'
import { showTime, Until } from '../time.ts'
import { nameState, showState, standingOf } from './states.ts'

/** A submission from `/v1/submissions/{token}`. */
export type Submission = Having<
  Omit<types.Submission, 'files' | 'validationRun'>,
  'submissionToken' | 'returnId' | 'eid' | 'submissionStatus'
> & { readonly files?: readonly SubmittedFile[]; readonly validationRun?: Run }

export type SubmittedFile = Having<types.SubmissionFile, 'fileType' | 'file' | 'records'>

export type Run = Having<types.ValidationRun, 'runId' | 'status'>

/** The scope of those who change submissions. */
export const WRITING = { scope: 'submissions:write' } as const

/** The steps of a submission in their order, with their names and their paths below it. */
const STEPS = [
  { step: 'files', name: 'Files', path: '/files' },
  { step: 'check', name: 'Check', path: '/check' },
  { step: 'fix', name: 'Fix', path: '/findings' },
  { step: 'submit', name: 'Submit', path: '/submit' },
] as const

type Step = (typeof STEPS)[number]['step']

/** A submission and how far it has come. */
export interface Workbench extends Context {
  readonly submission: Submission
  /** The newest check. */
  readonly run: Run | undefined
  readonly rules: Catalogue | undefined
  /** The files of the definition that have not arrived. */
  readonly missing: readonly Catalogue['definition']['files'][number][]
  /** Where the person should go next. */
  readonly step: Step
  readonly isOpen: boolean
  readonly mayWrite: boolean
  /** Whether the newest check covers the current files. */
  readonly isCurrent: boolean
  /** What is explained, and what must be before the submission; absent where that does not matter. */
  readonly explained: types.ExplanationList | undefined
  /** The receipt that says why and by whom it was opened again; absent if it is submitted, or never was. */
  readonly reopened: types.Receipt | undefined
}

export const tokenOf = ({ params: { token = '' } }: Context): string => token

/** The path of the submission in the API. */
export const pathOf = (context: Context, rest = ''): string =>
  `/submissions/${encodeURIComponent(tokenOf(context))}${rest}`

/** The URL of a page or a form of the submission. */
export const linkTo = (context: Context, rest: string, more: Query = {}): string =>
  link(submissionLink(tokenOf(context), rest), { eid: context.eid, ...more })

/** The path of the records with findings, below the submission. */
export const RECORDS = '/findings/records'

/** The URL of the records with findings. */
export const recordsLink = (context: Context, query: Query): string => linkTo(context, RECORDS, query)

/** The URL of a step of the submission. */
export const stepLink = (context: Context, step: Step, more?: Query): string =>
  linkTo(context, STEPS.find((each) => each.step === step)?.path ?? '', more)

export const isGoing = ({ status }: Run): boolean => status === 'Queued' || status === 'InProgress'

const callExplanations = (context: Context) =>
  context.api.call<types.ExplanationList>(pathOf(context, '/explanations'))

/** The explanations, which the steps may have read already. */
export const readExplanations = async (workbench: Workbench): Promise<types.ExplanationList> =>
  workbench.explained ?? (await callExplanations(workbench))

export async function readWorkbench(context: Context): Promise<Workbench> {
  const { api, principal } = context
  const submission = await api.call<Submission>(pathOf(context))
  const { files = [], submissionStatus: status, validationRun: run } = submission
  const isOpen = ['Pending', 'Validating', 'Validated'].includes(status) && !isPublished(submission)
  const isCurrent = coversFiles(submission)
  const hasWarnings = isOpen && isCurrent && (run?.warningCount ?? 0) > 0
  const [rules, reopened, explained] = await Promise.all([
    readRules(api, submission.definition),
    submission.reopenedUntil === undefined ? undefined : api.call<types.Receipt>(pathOf(context, '/receipt')),
    hasWarnings ? callExplanations(context) : undefined,
  ])
  const received = new Set<string>(files.map(({ file }) => file))
  const missing = (rules?.definition.files ?? []).filter(({ file }) => !received.has(file))
  return {
    ...context,
    submission,
    run,
    rules,
    missing,
    reopened,
    step: chooseStep(submission, missing.length),
    isOpen,
    mayWrite: isOpen && principal.scopes.has('submissions:write'),
    isCurrent,
    explained,
  }
}

/** Whether its findings were published by a command: it then never has files, and takes no records. */
export const isPublished = ({ submissionStatus: status, maxRecordPerBatch }: Submission): boolean =>
  status !== 'Cancelled' && maxRecordPerBatch === undefined

/** Whether the newest check has finished, and read the files as they are. */
export function coversFiles({
  files = [],
  submissionStatus: status,
  validationRun: run,
}: Submission): boolean {
  if (run?.status !== 'Processed') return false
  // Only the times say so of a submission that was closed as it was.
  if (status === 'Closed')
    return files.every(({ received = '' }) => Date.parse(received) <= Date.parse(run.dateReceived ?? ''))
  return status === 'Validated' || status === 'Submitted'
}

function chooseStep(
  { files = [], submissionStatus: status, validationRun: run }: Submission,
  missing: number,
): Step {
  if (status === 'Submitted') return 'submit'
  if (run !== undefined && isGoing(run)) return 'check'
  if (status === 'Validated' || status === 'Closed') {
    if (run?.status !== 'Processed') return 'check'
    return hasFindings(run) ? 'fix' : 'submit'
  }
  if (files.length === 0 || missing > 0) return run?.status === 'Processed' ? 'fix' : 'files'
  return run !== undefined && run.status !== 'Processed' ? 'check' : 'files'
}

/** Whether a finished check has anything to show: findings, or rules that were stopped. */
export const hasFindings = ({ errorCount = 0, warningCount = 0, stoppedCount = 0 }: Run): boolean =>
  errorCount + warningCount + stoppedCount > 0

/** The name of the return of a submission, or its id if the service has no such return. */
export const nameReturn = ({
  returnName,
  returnId,
}: Pick<types.Submission, 'returnName' | 'returnId'>): string => returnName ?? `Return ${returnId}`

/** A page of the workbench: what the submission is, its steps, and the content of one of them. */
export function showStep(
  workbench: Workbench,
  current: Step | undefined,
  { title, content, ...shown }: Shown,
): Shown {
  const { submission, run, missing, isOpen, isCurrent, reopened, eid } = workbench
  const { returnId, dueDate, files = [], submissionStatus: status } = submission
  const errors = run?.errorCount ?? 0
  const isDeleted = status === 'Cancelled'
  // What was kept for some time may be deleted.
  const none = isOpen ? 'Not checked' : 'None stored'
  const hints: Readonly<Record<Step, string>> = {
    files:
      files.length === 0
        ? 'None stored'
        : missing.length > 0
          ? `${missing.length} missing`
          : count(files.length, 'file'),
    check:
      run === undefined
        ? none
        : run.status === 'Processed' && !isCurrent
          ? 'Files changed'
          : nameState('check', run.status),
    fix: !isCurrent
      ? run === undefined
        ? none
        : 'Not checked'
      : errors > 0
        ? count(errors, 'error')
        : run?.stoppedCount === undefined
          ? 'No errors'
          : 'Not fully checked',
    submit: describeSubmit(workbench),
  }
  return {
    ...shown,
    title: `${title} – ${nameReturn(submission)}`,
    content: html`${crumbs([link('/console/submissions', { eid }), 'Submissions'])}
      <h1>${nameReturn(submission)}${dueDate !== undefined && html` <span class="soft">due <${Until} at=${dueDate} /></span>`}</h1>
      <p class="facts">
        ${submission.returnName !== undefined && html`<span>Return ${returnId}</span>`}
        <span>Organisation ${submission.eid}</span>
        <span>${showState('submission', standingOf(submission))}</span>
        ${isOpen && submission.tokenExpiry !== undefined && html`<span>Open until <${Until} at=${submission.tokenExpiry} /></span>`}
        <a href=${linkTo(workbench, '/activity')}>Activity</a>
      </p>
      ${reopened !== undefined && html`<p class="problem">Reopened by ${reopened.reopenedBy?.name}, ${showTime(reopened.dateReopened)}, to be changed and submitted again until <${Until} at=${submission.reopenedUntil} />: ${reopened.reopenReason}</p>`}
      ${
        isDeleted
          ? html`<p class="problem">This submission was deleted, with its files, findings and receipts.</p>`
          : html`<nav aria-label="Steps">
        <ol class="steps">
          ${STEPS.map(
            ({ step, name }) => html`<li class=${step === current ? 'current' : undefined}>
              <a href=${stepLink(workbench, step)} aria-current=${step === current ? 'step' : undefined}>
                <strong>${name}</strong><span>${hints[step]}</span>
              </a>
            </li>`,
          )}
        </ol>
      </nav>`
      }
      ${(!isDeleted || current === undefined) && content}`,
  }
}

/** What keeps a submission from being submitted. */
interface Obstacle {
  /** In a few words. */
  readonly hint: string
  /** What to do about it. */
  readonly todo: VNode
}

/** What must be done before the submission can be submitted, as far as its newest check says. */
export function listObstacles(workbench: Workbench): readonly Obstacle[] {
  const { submission, run, missing, isCurrent, explained: { open: unexplained = [] } = {} } = workbench
  const { errorCount: errors = 0, stoppedCount: stopped = 0 }: Partial<Run> = run ?? {}
  const to = (step: Step, words: string) => html`<a href=${stepLink(workbench, step)}>${words}</a>`
  const open: Obstacle[] = []
  const add = (hint: string, todo: VNode) => open.push({ hint, todo })
  if ((submission.files ?? []).length === 0) {
    add('no files', html`${to('files', 'Send the files')}.`)
    return open
  }
  if (run !== undefined && isGoing(run)) {
    add('being checked', html`The check is in progress. ${to('check', 'See how far it is')}.`)
    return open
  }
  if (!isCurrent) {
    add('not checked', html`No finished check covers the current files. ${to('check', 'Check them')}.`)
    return open
  }
  if (errors > 0) {
    for (const { title } of missing)
      add(`${title} missing`, html`Missing: ${title}. ${to('files', 'Send it')}.`)
    const number = count(errors, 'error')
    add(`${number} left`, html`${to('fix', number)} must be fixed.`)
  }
  if (stopped > 0)
    add(
      'not fully checked',
      html`${to('fix', count(stopped, 'rule was', 'rules were'))} stopped, so nobody knows what ${stopped === 1 ? 'it finds' : 'they find'}. ${to('check', 'Check again')}; if that does not help, ask the operator of this service.`,
    )
  const warnings = unexplained.reduce((sum, { findings = 0 }) => sum + findings, 0)
  for (const { code = '', findings = 0 } of unexplained)
    add(
      `${count(warnings, 'warning')} to explain`,
      html`<a href=${recordsLink(workbench, { code })}>Explain ${count(findings, 'warning')} of ${code}</a>.`,
    )
  return open
}

/** Whether the submission has been submitted, or the first thing that keeps it from that. */
function describeSubmit(workbench: Workbench): string {
  const { submission, isOpen, reopened } = workbench
  if (submission.submissionStatus === 'Submitted') return 'Submitted'
  if (isPublished(submission)) return 'Not submitted'
  if (!isOpen) return 'Too late'
  const [first] = listObstacles(workbench)
  if (first !== undefined) return `Not yet: ${first.hint}`
  return reopened === undefined ? 'Ready' : 'Not submitted again'
}

/**
 * The sentence of a finished check.
 *
 * @param causes how many causes all findings have, if that is to be shown
 */
export function showVerdict(run: Run, causes = 0): VNode {
  const { errorCount: errors = 0, warningCount: warnings = 0, stoppedCount: stopped = 0 } = run
  if (!hasFindings(run)) return html`<p class="verdict"><span class="good">No findings.</span></p>`
  return html`<p class="verdict">
    <span class=${errors > 0 ? 'error' : stopped > 0 ? undefined : 'good'}>${errors > 0 ? count(errors, 'error') : 'No errors'}</span>${
      warnings > 0 && html` and <span class="warning">${count(warnings, 'warning')}</span>`
    }${causes > 0 && causes < errors + warnings && `, from ${count(causes, 'cause')}`}.${
      stopped > 0 &&
      html` <span class="error">The check is not complete: ${count(stopped, 'rule was', 'rules were')} stopped.</span>`
    }
  </p>`
}

/** The workbench of a submission whose newest check is finished. */
export type Checked = Workbench & { readonly run: Run }

/** A page about what the newest check found. Before it has finished, or if it did not, the page says so. */
export const ofCheck =
  (show: (workbench: Checked) => Promise<Shown>) =>
  async (context: Context): Promise<Shown> => {
    const workbench = await readWorkbench(context)
    const { run } = workbench
    if (run?.status === 'Processed') return await show({ ...workbench, run })
    const state =
      run !== undefined && !isGoing(run)
        ? html`The newest check did not finish. <a href=${stepLink(context, 'check')}>See why</a>`
        : run === undefined && !workbench.mayWrite
          ? 'No finished check is stored.'
          : listObstacles(workbench)[0]?.todo
    return showStep(workbench, 'fix', { title: 'Fix', content: html`<p>${state}</p>` })
  }
