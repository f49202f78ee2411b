import type * as types from '../../../client/src/types.ts'
import { EMPTY_RETURN, isEmptyReturn } from '../../foundation/text/empty-return.ts'
import { count } from '../../foundation/text/format-number.ts'
import { type Context, get, type Route, type Shown } from '../context.ts'
import { crumbs, html, pairs, type VNode } from '../html.ts'
import { orderFiles, readRules, titlesOf } from '../rules.ts'
import { table } from '../table.ts'
import { showTime } from '../time.ts'
import { showExplanations } from './explanations.ts'
import { linkTo, nameReturn, pathOf, stepLink } from './workbench.ts'

export const receiptPages: readonly Route[] = [get('/submissions/:token/receipt', showReceiptPage)]

type Receipt = Omit<types.Receipt, 'explanations' | 'earlier'> & {
  readonly explanations?: readonly types.Explanation[]
  readonly earlier?: readonly types.Receipt[]
}

/** What was submitted: the newest receipt, or that with a number. */
export async function readReceipt(context: Context, number?: string): Promise<Receipt> {
  return await context.api.call<Receipt>(pathOf(context, '/receipt'), { query: { number } })
}

export const receiptLink = (context: Context, number?: number): string =>
  linkTo(context, '/receipt', { number })

async function showReceiptPage(context: Context): Promise<Shown> {
  const receipt = await readReceipt(context, context.query.get('number') ?? undefined)
  const rules = await readRules(context.api, receipt.definition?.name)
  return {
    title: `Receipt – ${nameReturn(receipt)}`,
    content: [
      crumbs([stepLink(context, 'submit'), 'The submission']),
      showReceipt(context, receipt, titlesOf(rules)),
    ],
  }
}

function showReceipt(context: Context, receipt: Receipt, titles: ReadonlyMap<string, string>): VNode {
  const { files = [], explanations = [], earlier = [], notRun = [], definition } = receipt
  const facts = [
    ['Organisation', receipt.eid],
    [
      'Return',
      receipt.returnName === undefined ? receipt.returnId : `${receipt.returnName} (${receipt.returnId})`,
    ],
    ['Submitted by', receipt.submittedBy?.name],
    ['Submitted', showTime(receipt.dateSubmitted)],
    ['Checked with', definition && `${definition.title ?? definition.name}, version ${definition.version}`],
    ['Check', receipt.runId && html`${receipt.runId}, ${showTime(receipt.dateChecked)}`],
    ['Found', `${count(receipt.errorCount ?? 0, 'error')}, ${count(receipt.warningCount ?? 0, 'warning')}`],
    ['Submission', html`<span class="mono">${receipt.submissionToken}</span>`],
    [
      'Replaces',
      receipt.replaces &&
        html`<span class="mono">${receipt.replaces.submissionToken}</span>, ${showTime(receipt.replaces.dateSubmitted)}`,
    ],
  ] as const
  return html`<article>
    <h1>Receipt ${receipt.receipt} for return ${receipt.returnId}</h1>
    ${receipt.statement !== undefined && html`<p>${receipt.statement}</p>`}
    ${
      receipt.dateReopened !== undefined &&
      html`<p class="problem">Reopened by ${receipt.reopenedBy?.name}, ${showTime(receipt.dateReopened)}: ${receipt.reopenReason}</p>`
    }
    ${pairs(facts)}
    <h2>Files</h2>
    ${table('Files', orderFiles(files, titles), [
      ['File', ({ file = '' }) => titles.get(file) ?? file],
      ['Records', ({ records }) => records, 'number'],
      ['Bytes', ({ bytes }) => bytes, 'number'],
      ['SHA-256', ({ sha256 }) => sha256, 'mono digest'],
    ])}
    ${isEmptyReturn(files) && html`<p class="problem">${EMPTY_RETURN}</p>`}
    ${
      notRun.length > 0 &&
      html`<h2>Rules that could not run</h2><ul>${notRun.map(({ errorCode, reason }) => html`<li>${errorCode}: ${reason}</li>`)}</ul>`
    }
    ${explanations.length > 0 && html`<h2>Explanations</h2>${showExplanations(explanations)}`}
    ${
      earlier.length > 0 &&
      html`<h2>Earlier receipts</h2><ul>${earlier.map(
        (each) =>
          html`<li><a href=${receiptLink(context, each.receipt)}>Receipt ${each.receipt}</a>, ${showTime(each.dateSubmitted)}, ${each.submittedBy?.name}</li>`,
      )}</ul>`
    }
  </article>`
}
