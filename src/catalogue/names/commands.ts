import { type Command, InvalidArgumentError } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { type ReadFile, readRecords, readText } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { Progress, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Writer } from '../../foundation/database/database.ts'
import { FaultList } from '../../foundation/faults/faults.ts'
import { count } from '../../foundation/text/format-number.ts'
import { normaliseText } from '../../foundation/text/normalise.ts'
import { quote } from '../../foundation/text/quote.ts'
import type { Retention } from '../history/revision-log.ts'
import { describeMissing, findMissingCodes } from '../records/missing-codes.ts'
import { describeRepaired, withRepaired } from '../records/read-rows.ts'
import { ShownCells } from '../records/shown-cells.ts'
import { changeSearchData } from './change-search-data.ts'
import { NAME_COLUMNS, type ReadName, readNames, readSynonymLines } from './files.ts'
import { findLostNames } from './lost-names.ts'
import {
  assertImportable,
  assertSource,
  findNameChanges,
  IMPORTED,
  listSources,
  MAX_SOURCE_LENGTH,
  readStored,
  removeSource,
  storeNameChanges,
  storeSynonyms,
} from './names.ts'

/** Adds `occupations import-names`, `names` and `import-synonyms`. */
export function addNameCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  occupations
    .command('import-names')
    .description(
      'import names for the search only, from CSV, JSON, NDJSON or XLSX files with the columns occupationCode, name and language (en or mi); they replace those of their source',
    )
    .argument('<file...>')
    .option('--source <name>', 'the source of the names', readSource, IMPORTED)
    .option('--accept-damaged', 'accept names that only remove macrons and other marks')
    .addOption(jsonOption)
    .action(
      action(async (files: string[], flags: ImportNamesFlags) => {
        const progress = new Progress('records', files)
        const read: ReadFile[] = []
        const shown = new ShownCells()
        const records = readRecords(files, {
          columns: NAME_COLUMNS,
          onShown: shown.add,
          onBytes: progress.onBytes,
          onFile: (file) => read.push(file),
        })
        const { names, repaired } = await readNames(records).finally(() => progress.stop())
        const counts = await withDatabase((database) =>
          changeSearchData(
            database,
            { command: 'import-names', files: read },
            retention(),
            async (writer) => {
              const counts = await storeNames(writer, names, flags)
              return { result: counts, changed: counts.added + counts.removed > 0 }
            },
          ),
        )
        await report(
          flags,
          { ...counts, ...shown.toMember(), ...withRepaired(repaired) },
          [
            ...shown.describe(),
            ...describeRepaired(repaired, 'row', ({ occupationCode, name }) => `${occupationCode}: ${name}`),
            `Search-only names: ${counts.added} added, ${counts.removed} removed.`,
          ].join('\n'),
        )
      }),
    )

  const names = occupations.command('names').description('the sources of names for the search only')

  names
    .command('list')
    .description('list the sources with the numbers of their names')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const sources = await withDatabase((database) => database.snapshot(listSources))
        const lines = sources.map(
          ({ source, names, occupations }) =>
            `${quote(source)}  ${count(names, 'name')} of ${count(occupations, 'occupation')}`,
        )
        await report(
          flags,
          { sources },
          lines.length === 0 ? 'There are no search-only names.' : lines.join('\n'),
        )
      }),
    )

  names
    .command('export')
    .description('print the names of a source as CSV with a byte order mark, as import-names reads it')
    .argument('<source>')
    .action(
      action(async (source: string) => {
        const rows = await withDatabase((database) =>
          database.snapshot(async (reader) => {
            await assertSource(reader, source)
            return await readStored(reader, source)
          }),
        )
        const cells = rows.map(({ code, name, language }) => [code, name, language])
        await writeOut(stringify([NAME_COLUMNS.map(({ name }) => name), ...cells], { bom: true }))
      }),
    )

  names
    .command('remove')
    .description('remove a source and its names; names that other sources have too remain')
    .argument('<source>')
    .addOption(jsonOption)
    .action(
      action(async (source: string, flags: { json?: true }) => {
        const removed = await withDatabase((database) =>
          changeSearchData(database, { command: 'names remove', files: [] }, retention(), async (writer) => {
            return { result: await removeSource(writer, source), changed: true }
          }),
        )
        await report(
          flags,
          { source, removed },
          `Removed ${count(removed, 'name')} of the source ${quote(source)}.`,
        )
      }),
    )

  occupations
    .command('import-synonyms')
    .description(
      'import the synonyms of the search from a text file with lines such as "lorry = truck"; they replace the list before',
    )
    .argument('<file>')
    .addOption(jsonOption)
    .action(
      action(async (file: string, flags: { json?: true }) => {
        const lists = readSynonymLines(file, await readText(file))
        const changed = await withDatabase(
          (database) =>
            changeSearchData(
              database,
              { command: 'import-synonyms', files: [] },
              retention(),
              async (writer) => {
                const changed = await storeSynonyms(writer, lists)
                return { result: changed, changed }
              },
            ),
          { create: true },
        )
        const message = changed
          ? `Stored ${count(lists.length, 'line')} of synonyms.`
          : 'The synonyms are unchanged.'
        await report(flags, { lines: lists.length, changed }, message)
      }),
    )
}

interface ImportNamesFlags {
  source: string
  acceptDamaged?: true
  json?: true
}

/** @throws {InputRefused} for names of unknown codes, and for names that only lose macrons */
async function storeNames(
  writer: Writer,
  names: readonly ReadName[],
  { source, acceptDamaged }: ImportNamesFlags,
) {
  assertImportable(source)
  await assertKnown(writer, names)
  const byCode = Map.groupBy(names, ({ occupationCode }) => occupationCode)
  const changes = await findNameChanges(writer, source, byCode)
  if (!acceptDamaged) {
    const faults = new FaultList()
    faults.add(findLostNames(names, changes.removed))
    faults.throwIfFound()
  }
  return await storeNameChanges(writer, source, changes)
}

/** @throws {InputRefused} with the names whose code the catalogue does not have */
async function assertKnown(writer: Writer, names: readonly ReadName[]): Promise<void> {
  const missing = await findMissingCodes(
    writer,
    names.map(({ occupationCode }) => occupationCode),
  )
  const faults = new FaultList()
  for (const { occupationCode, locate } of names) {
    const found = missing.get(occupationCode)
    if (found !== undefined) faults.add([{ ...locate('occupationCode'), message: describeMissing(found) }])
    if (faults.truncated) break
  }
  faults.throwIfFound()
}

function readSource(text: string): string {
  const name = normaliseText(text)
  const isValid = name !== '' && name.length <= MAX_SOURCE_LENGTH && !/\p{C}|\p{Zl}|\p{Zp}/u.test(name)
  if (isValid) return name
  throw new InvalidArgumentError(`It must be one line of 1 to ${MAX_SOURCE_LENGTH} characters.`)
}
