import { type Command, InvalidArgumentError } from 'commander'
import { reportChange } from '../../api/access/audit.ts'
import { removeSuspension } from '../../api/access/suspensions.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { say, writeOut } from '../../foundation/command-line/terminal.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import { escapeControls, quote } from '../../foundation/text/quote.ts'
import { listOrganisations, renderOrganisation, suspend } from './organisations.ts'

/** Adds `organisations list`, `suspend`, `resume` and `usage`. */
export function addOrganisationCommands(program: Command, withDatabase: WithDatabase): void {
  const organisations = program
    .command('organisations')
    .description('list, suspend and resume organisations, and show what each uses')

  organisations
    .command('list')
    .description('list the organisations that keys cover, that have submissions, or that are suspended')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const all = (await withDatabase((database) => listOrganisations(database))).map(renderOrganisation)
        if (flags.json) return writeOut(`${JSON.stringify({ organisations: all })}\n`)
        if (all.length === 0) say('There are no organisations yet: a key or a submission makes one known.')
        for (const { eid, state, suspended, keys, submissions, reason = '' } of all) {
          const when = suspended === undefined ? '' : `since ${suspended.slice(0, 10)}`
          const counts = `${count(keys, 'valid key')}, ${count(submissions, 'submission')}`
          const columns = [eid.padEnd(16), state.padEnd(9), when.padEnd(16), counts, escapeControls(reason)]
          await writeOut(`${columns.join('  ').trimEnd()}\n`)
        }
      }),
    )

  organisations
    .command('suspend')
    .description('refuse every request for the data of an organisation, and cancel its unfinished runs')
    .argument('<eid>', 'identifier of the organisation')
    .option('--reason <text>', 'a note for operators, without personal data', readReason, '')
    .option('--unknown', 'also if no key and no submission names it yet')
    .addOption(jsonOption)
    .action(
      action(async (eid: string, { reason, unknown, ...flags }: SuspendFlags) => {
        const suspended = await withDatabase((database) =>
          suspend(database, { eid, reason, unknown: unknown === true }),
        )
        if (suspended === undefined)
          failUnknown(
            eid,
            '. Give --unknown to suspend it nevertheless, for example if only tokens of an identity provider name it',
          )
        const { cancelledRuns } = suspended
        const text = `Organisation ${eid} is suspended: within a second, every request for its data is refused. Runs that were cancelled: ${cancelledRuns}. Its data and its keys are unchanged. "mahi organisations resume ${eid}" ends this.`
        await report(flags, { eid, state: 'Suspended', cancelledRuns }, text)
        reportChange({ audit: 'suspended', eid })
      }),
    )

  organisations
    .command('resume')
    .description('end the suspension of an organisation')
    .argument('<eid>', 'identifier of the organisation')
    .addOption(jsonOption)
    .action(
      action(async (eid: string, flags: { json?: true }) => {
        if (!(await withDatabase((database) => removeSuspension(database, eid))))
          fail({
            field: '<eid>',
            message: `the organisation ${quote(eid)} is not suspended. Nothing was changed. "mahi organisations list" shows which are`,
          })
        const text = `Organisation ${eid} is active again, within a second. Runs that were cancelled are not started again: their submissions can request new ones.`
        await report(flags, { eid, state: 'Active' }, text)
        reportChange({ audit: 'resumed', eid })
      }),
    )

  organisations
    .command('usage')
    .description('show what is stored for each organisation')
    .argument('[eid]', 'only this organisation')
    .addOption(jsonOption)
    .action(
      action(async (eid: string | undefined, flags: { json?: true }) => {
        const all = (await withDatabase((database) => listOrganisations(database, eid))).map(
          renderOrganisation,
        )
        if (eid !== undefined && all.length === 0) failUnknown(eid, '')
        if (flags.json) return writeOut(`${JSON.stringify({ organisations: all })}\n`)
        const head = ['EID', 'Submissions', 'File bytes', 'Runs', 'Findings']
        const rows = all.map((each) => [
          each.eid,
          ...[each.submissions, each.fileBytes, each.runs, each.findings].map(String),
        ])
        for (const [first = '', ...others] of [head, ...rows])
          await writeOut(`${first.padEnd(16)}${others.map((each) => each.padStart(14)).join('')}\n`)
      }),
    )
}

interface SuspendFlags {
  reason: string
  unknown?: true
  json?: true
}

function failUnknown(eid: string, advice: string): never {
  fail({
    field: '<eid>',
    message: `no key covers the organisation ${quote(eid)}, and it has no submission. Nothing was changed. "mahi organisations list" lists those that are known${advice}`,
  })
}

function readReason(text: string): string {
  const reason = text.normalize('NFC').trim()
  if (reason.length <= 200 && !/\p{Cc}/u.test(reason)) return reason
  throw new InvalidArgumentError('It must be one line of at most 200 characters.')
}
