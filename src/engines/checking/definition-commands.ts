import type { Command } from 'commander'
import { action, jsonOption } from '../../foundation/command-line/command.ts'
import { print, say, writeOut } from '../../foundation/command-line/terminal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'

/** Adds `definitions list`, `show`, `test` and `init`, whose code is loaded when they run. */
export function addDefinitionCommands(program: Command): void {
  const definitions = program
    .command('definitions')
    .description('list, show, test and propose the definitions that files are checked against')

  definitions
    .command('list')
    .description('list the definitions that come with Mahi')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const { findDefinition, listOwnDefinitions, loadDefinition } = await import('./definition/load.ts')
        const list = listOwnDefinitions().map((name) => {
          const { title, version, resources } = loadDefinition(findDefinition(name))
          const checks = resources.reduce((sum, resource) => sum + resource.checks.length, 0)
          return { name, version, title, files: resources.length, checks }
        })
        if (flags.json) return await writeOut(`${JSON.stringify({ definitions: list })}\n`)
        for (const { name, version, title, files, checks } of list) {
          await print(
            `${name.padEnd(12)} ${version.padEnd(12)} ${count(files, 'file')}, ${count(checks, 'check')}: ${title}\n`,
          )
        }
      }),
    )

  definitions
    .command('show')
    .description('list every check of a definition, in the order of the findings')
    .argument('<definition>', 'the name of one of the definitions that come with Mahi, or a folder')
    .addOption(jsonOption)
    .action(
      action(async (name: string, flags: { json?: true }) => {
        const { findDefinition, loadDefinition } = await import('./definition/load.ts')
        const { describeCheck } = await import('./engine/explain.ts')
        const { listChecks } = await import('./definition/definition.ts')
        const definition = loadDefinition(findDefinition(name))
        const checks = [...listChecks(definition)].map(({ resource, check }) =>
          describeCheck(resource, check),
        )
        if (flags.json) {
          const { name: own, version, title, notice } = definition
          return await writeOut(`${JSON.stringify({ name: own, version, title, notice, checks })}\n`)
        }
        if (definition.notice !== undefined) say(definition.notice)
        for (const { code, severity, message } of checks) {
          await print(`${code.padEnd(20)} ${severity.padEnd(8)} ${message}\n`)
        }
      }),
    )

  definitions
    .command('test')
    .description('run the examples of every rule, also with each comparison of its query changed')
    .argument('<definition...>', 'names of definitions that come with Mahi, or folders')
    .addOption(jsonOption)
    .action(
      action(async (names: string[], flags: { json?: true }) => {
        const { findDefinition, loadDefinition } = await import('./definition/load.ts')
        const { testRules } = await import('./test-rules.ts')
        const results = names.map((name) => {
          const definition = loadDefinition(findDefinition(name))
          return { name: definition.name, ...testRules(definition) }
        })
        const faults = results.flatMap((result) => result.faults)
        if (faults.length > 0) throw new UserError(faults)
        if (flags.json) return await writeOut(`${JSON.stringify({ definitions: results })}\n`)
        for (const { name, rules, examples } of results) {
          say(
            `${name}: ${rules === 1 ? '1 rule passes its' : `${rules} rules pass their`} ${examples} ${examples === 1 ? 'example' : 'examples'}.`,
          )
        }
      }),
    )

  definitions
    .command('init')
    .description('propose a definition for the files of a folder, derived from their records')
    .argument('<folder>', 'the folder with the files, to which datapackage.yml is written')
    .addOption(jsonOption)
    .action(
      action(async (folder: string, flags: { json?: true }) => {
        const { propose } = await import('./proposal/propose.ts')
        const { describeVerdict } = await import('./report/report.ts')
        // Without it, copies of the files would be left among the temporary files.
        const abort = new AbortController()
        const stop = () => abort.abort(new UserError('The files were not read to their end.'))
        process.once('SIGINT', stop).once('SIGTERM', stop)
        const { descriptor, files, unread, summary } = await propose(folder, abort.signal).finally(() =>
          process.off('SIGINT', stop).off('SIGTERM', stop),
        )
        const { errors, warnings } = summary
        if (flags.json)
          return await writeOut(`${JSON.stringify({ descriptor, files, unread, errors, warnings })}\n`)
        for (const text of unread) say(`Left out: ${text}`)
        say(
          `Wrote a proposal for ${count(files.length, 'file')}. ${describeVerdict(summary)} Read it, then check:`,
        )
        await print(`mahi check ${folder}\n`)
      }),
    )
}
