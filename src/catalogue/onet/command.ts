import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { describeFile, type ReadFile } from '../../engines/records/index.ts'
import { action, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { Progress } from '../../foundation/command-line/terminal.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import type { Retention } from '../history/revision-log.ts'
import { describeImport, type ImportFlags, runImport, withImportOptions } from '../import/command.ts'
import type { SearchOnlyName } from '../names/names.ts'
import { countFields } from './coverage.ts'
import { describeSource, readOnet } from './import.ts'
import { RELEASE_FILES, readReleaseNumber } from './release.ts'

/** The source of O*NET's names, which the next import replaces. */
const ONET_SOURCE = 'O*NET'

interface OnetFlags extends ImportFlags {
  wages?: string
  withoutWages?: true
  relatedGroups?: true
}

/** Adds `occupations import-onet`. */
export function addOnetCommand(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  withImportOptions(occupations.command('import-onet'))
    .description('import the O*NET text release, with pay from the OEWS wages')
    .argument('<folder>', 'the unpacked text release')
    .option('--wages <file>', 'national OEWS estimates as CSV; this or --without-wages is required')
    .addOption(
      new Option('--without-wages', 'import without pay, and remove it from existing records').conflicts(
        'wages',
      ),
    )
    .option('--related-groups', 'add the groups of related occupations as Secondary groups')
    .action(
      action(async (folder: string, flags: OnetFlags) => {
        const { wages, withoutWages, relatedGroups } = flags
        if (wages === undefined && withoutWages !== true) {
          fail({
            field: '--wages',
            message:
              'is required. Name the OEWS file, or use --without-wages, which removes pay from existing records',
          })
        }
        const combined: string[] = []
        const searchNames = new Map<string, SearchOnlyName[]>()
        const records = readOnet(folder, {
          ...(wages !== undefined && { wages }),
          relatedGroups: relatedGroups === true,
          onOtherTitles: (code, titles) =>
            searchNames.set(
              code,
              titles.map((text) => ({ text, language: 'en' })),
            ),
          onCombinedPay: (code, wageCode) => combined.push(`${code} (${wageCode})`),
        })
        const coverage = countFields(records)
        const files: ReadFile[] = []
        // A missing file is reported together with all other faults.
        for (const path of [...RELEASE_FILES.map((name) => join(folder, name)), ...(wages ? [wages] : [])])
          if (existsSync(path)) files.push(await describeFile(path))
        const origin = () => ({ command: 'import-onet', files })
        const summary = await runImport(withDatabase, coverage.records, flags, new Progress('records'), {
          origin,
          retention: retention(),
          searchNames: () => ({ source: ONET_SOURCE, names: searchNames }),
        })
        const fields = coverage.fields()
        await report(
          flags,
          {
            ...summary,
            fields: Object.fromEntries(fields.map(({ field, records }) => [field, records])),
            combinedPay: combined.length,
          },
          [
            'Records on which each field is present:',
            ...fields.map(({ field, records }) => `  ${String(records).padStart(6)}  ${field}`),
            ...describeCombined(combined),
            describeImport(summary),
            describeSource(await readReleaseNumber(folder)),
          ].join('\n'),
        )
      }),
    )
}

function describeCombined(combined: readonly string[]): string[] {
  const [first] = combined
  if (first === undefined) return []
  return [`Records with the pay of a combined wage code, such as ${first}: ${combined.length}.`]
}
