import type * as types from '../../../client/src/types.ts'
import { EMPTY_RETURN, isEmptyReturn } from '../../foundation/text/empty-return.ts'
import { count, formatOptional } from '../../foundation/text/format-number.ts'
import type { Context, Route, Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { link, submissionLink } from '../links.ts'
import { orderFiles, readRules, titlesOf } from '../rules.ts'
import { Table } from '../table.ts'
import { Time } from '../time.ts'
import { showExplanations } from './explanations.ts'
import { nameReturn, pathOf, stepLink, tokenOf } from './workbench.ts'

export const receiptPages: readonly Route[] = [
  { method: 'GET', path: '/submissions/:token/receipt', handle: showReceiptPage },
]

type Receipt = Omit<types.Receipt, 'explanations' | 'earlier'> & {
  readonly explanations?: readonly types.Explanation[]
  readonly earlier?: readonly types.Receipt[]
}

/** What was submitted: the newest receipt, or that with a number. */
export async function readReceipt(context: Context, number?: string): Promise<Receipt> {
  return await context.api.call<Receipt>(pathOf(context, '/receipt'), { query: { number } })
}

export const receiptLink = (context: Context, number?: number): string =>
  link(submissionLink(tokenOf(context), '/receipt'), { eid: context.eid, number })

async function showReceiptPage(context: Context): Promise<Shown> {
  const receipt = await readReceipt(context, context.query.get('number') ?? undefined)
  const rules = await readRules(context.api, receipt.definition?.name)
  return {
    title: `Receipt – ${nameReturn(receipt)}`,
    content: html`<nav class="crumbs no-print" aria-label="Breadcrumb"><a href=${stepLink(context, 'submit')}>The submission</a></nav>
      ${showReceipt(context, receipt, titlesOf(rules))}`,
  }
}

function showReceipt(context: Context, receipt: Receipt, titles: ReadonlyMap<string, string>): VNode {
  const { files = [], explanations = [], earlier = [], notRun = [], definition } = receipt
  const facts: readonly (readonly [string, VNode | string | undefined])[] = [
    ['Organisation', receipt.eid],
    [
      'Return',
      receipt.returnName === undefined ? receipt.returnId : `${receipt.returnName} (${receipt.returnId})`,
    ],
    ['Submitted by', receipt.submittedBy?.name],
    ['Submitted', html`<${Time} at=${receipt.dateSubmitted} />`],
    ['Checked with', definition && `${definition.title ?? definition.name}, version ${definition.version}`],
    [
      'Check',
      receipt.runId === undefined ? undefined : html`${receipt.runId}, <${Time} at=${receipt.dateChecked} />`,
    ],
    ['Found', `${count(receipt.errorCount ?? 0, 'error')}, ${count(receipt.warningCount ?? 0, 'warning')}`],
    ['Submission', html`<span class="mono">${receipt.submissionToken}</span>`],
    [
      'Replaces',
      receipt.replaces &&
        html`<span class="mono">${receipt.replaces.submissionToken}</span>, <${Time} at=${receipt.replaces.dateSubmitted} />`,
    ],
  ]
  return html`<article class="receipt">
    <h1>Receipt ${receipt.receipt} for return ${receipt.returnId}</h1>
    ${receipt.statement !== undefined && html`<p>${receipt.statement}</p>`}
    ${
      receipt.dateReopened !== undefined &&
      html`<p class="problem">Reopened by ${receipt.reopenedBy?.name}, <${Time} at=${receipt.dateReopened} />: ${receipt.reopenReason}</p>`
    }
    <dl class="pairs">${facts.map(([name, value]) => value !== undefined && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    <h2>Files</h2>
    <${Table} label="Files" class="cards" columns=${['File', { name: 'Records', number: true }, { name: 'Bytes', number: true }, 'SHA-256']}>
      ${orderFiles(files, titles).map(
        ({ file, records, bytes, sha256 }) => html`<tr>
          <th scope="row">${titles.get(file ?? '') ?? file}</th>
          <td class="number">${formatOptional(records)}</td>
          <td class="number">${formatOptional(bytes)}</td>
          <td class="mono digest">${sha256}</td>
        </tr>`,
      )}
    <//>
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
          html`<li><a href=${receiptLink(context, each.receipt)}>Receipt ${each.receipt}</a>, <${Time} at=${each.dateSubmitted} />, ${each.submittedBy?.name}</li>`,
      )}</ul>`
    }
  </article>`
}
