import { type Command, Option } from 'commander'
import type { Client } from '../../client/src/index.ts'
import type { Explanation, ExplanationList, Receipt } from '../../client/src/types.ts'
import type { Scope } from '../api/access/principal.ts'
import { action, jsonOption, report } from '../foundation/command-line/command.ts'
import { print, say, writeOut } from '../foundation/command-line/terminal.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { EMPTY_RETURN, isEmptyReturn } from '../foundation/text/empty-return.ts'
import { count, formatNumber } from '../foundation/text/format-number.ts'
import { escapeControls } from '../foundation/text/quote.ts'
import { EXPLANATION_REASONS } from '../submissions/explanations/explanation.ts'
import { askService, openClient } from './service.ts'

interface Flags {
  url: string
  eid: string
  json?: true
}

interface ExplainFlags extends Flags {
  reason: (typeof EXPLANATION_REASONS)[number]
  text?: string
}

/** Adds the commands that explain warnings and submit, over HTTP, to those of `submissions`. */
export function addExplanationCommands(submissions: Command, apiKey: string | undefined): void {
  const add = (name: string, description: string) =>
    submissions
      .command(name)
      .description(`${description}; the key comes from MAHI_API_KEY`)
      .argument('<token>', 'the token of the submission')
      .requiredOption('--url <url>', 'the URL of the service, such as https://careers.example')
      .requiredOption('--eid <eid>', 'the identifier of the organisation')
      .addOption(jsonOption)
  type Work<T> = (client: Client['submissions']) => Promise<T>
  const withScope =
    (scope: Scope) =>
    <T>({ url, eid }: Flags, work: Work<T>) => {
      const { submissions: client } = openClient(url, { eid, apiKey, scope })
      return askService(url, () => work(client))
    }
  const read = withScope('validation-results:read')
  const change = withScope('submissions:write')
  const target = ['<code or cause>', 'a code such as ENR-202, or the key of a cause'] as const

  add('explanations', 'list the explanations of a submission, and the warnings that still need one').action(
    action(async (token: string, flags: Flags) => {
      await showList(await read(flags, (client) => client.explanations(token)), flags)
    }),
  )
  add('explain', 'explain the warnings with a code, or of a cause')
    .argument(...target)
    .addOption(
      new Option('--reason <reason>', 'why the values that were warned about are right')
        .choices(EXPLANATION_REASONS)
        .makeOptionMandatory(),
    )
    .option('--text <text>', 'the reason in words, without names of learners; required for Other')
    .action(
      action(async (token: string, explained: string, { reason, text, ...flags }: ExplainFlags) => {
        if (reason === 'Other' && !text?.trim())
          throw new UserError('The reason Other needs --text, which says why the findings are right.')
        const stored = await change(flags, (client) => client.explain(token, explained, { reason, text }))
        await report(flags, stored, escapeControls(describe(stored)))
      }),
    )
  add('withdraw', 'withdraw an explanation')
    .argument(...target)
    .action(
      action(async (token: string, explained: string, flags: Flags) => {
        const left = await change(flags, (client) => client.withdrawExplanation(token, explained))
        if (!flags.json) say(`Withdrawn: ${escapeControls(explained)}.`)
        await showList(left, flags)
      }),
    )
  add('submit', 'freeze a checked submission, and print its receipt').action(
    action(async (token: string, flags: Flags) => {
      const { receipt } = await change(flags, (client) => client.submit(token))
      if (flags.json) return writeOut(`${JSON.stringify(receipt ?? {})}\n`)
      say('Submitted. It can no longer be changed.')
      if (receipt !== undefined) await showReceipt(receipt)
    }),
  )
  add('receipt', 'print what was submitted, by whom and when').action(
    action(async (token: string, flags: Flags) => {
      const receipt = await read(flags, (client) => client.receipt(token))
      if (flags.json) return writeOut(`${JSON.stringify(receipt)}\n`)
      await showReceipt(receipt)
    }),
  )
}

async function showList(list: ExplanationList, flags: { json?: true }): Promise<void> {
  if (flags.json) return writeOut(`${JSON.stringify(list)}\n`)
  const { explanations = [], open = [] } = list
  for (const each of explanations) await writeLine(describe(each))
  for (const { code = '', findings = 0, explainedFindings } of open) {
    const before =
      explainedFindings === undefined ? '' : `, ${formatNumber(explainedFindings)} when it was explained`
    await writeLine(`${code}  Open: needs an explanation (${count(findings, 'finding')}${before})`)
  }
  if (explanations.length === 0) say('There are no explanations.')
  say(
    open.length === 0
      ? 'No warning needs an explanation before the submission.'
      : `${count(open.length, 'code needs', 'codes need')} an explanation before the submission.`,
  )
}

function describe({ target = '', state, reason, text, findings = 0, actor, reopened }: Explanation): string {
  const words = text === undefined ? '' : `: ${text}`
  const by = actor?.name === undefined ? '' : ` by ${actor.name}`
  const why = reopened === undefined ? '' : ` ${reopened}`
  return `${target}  ${state} (${count(findings, 'finding')})${by}, ${reason}${words}${why}`
}

async function showReceipt(receipt: Receipt): Promise<void> {
  const {
    definition,
    submittedBy,
    files = [],
    explanations = [],
    notRun = [],
    errorCount = 0,
    warningCount = 0,
  } = receipt
  const checked = definition === undefined ? '' : ` with ${definition.name} ${definition.version}`
  await writeLine(`Receipt ${receipt.receipt} for return ${receipt.returnId} of organisation ${receipt.eid}`)
  await writeLine(`Submitted by ${submittedBy?.name ?? 'unknown'} at ${receipt.dateSubmitted}`)
  await writeLine(
    `Check ${receipt.runId}${checked}: ${count(errorCount, 'error')} and ${count(warningCount, 'warning')}`,
  )
  for (const { errorCode, reason } of notRun) await writeLine(`Not run: ${errorCode}. ${reason}`)
  for (const { file, records = 0, sha256 } of files)
    await writeLine(`${file}  ${count(records, 'record')}  ${sha256}`)
  if (isEmptyReturn(files)) await writeLine(EMPTY_RETURN)
  for (const each of explanations) await writeLine(describe(each))
  const { replaces } = receipt
  if (replaces !== undefined)
    await writeLine(`Replaces the submission ${replaces.submissionToken} of ${replaces.dateSubmitted}`)
  if (receipt.statement !== undefined) await writeLine(receipt.statement)
}

/** Texts of a service and of other people are on one line each. */
async function writeLine(text: string): Promise<void> {
  await print(`${escapeControls(text)}\n`)
}
