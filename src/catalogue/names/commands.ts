import { type Command, InvalidArgumentError } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { type ReadFile, readRecords, readText } from '../../engines/records/index.ts'
import { action, jsonOption, report, type WithDatabase } from '../../foundation/command-line/command.ts'
import { Progress, writeOut } from '../../foundation/command-line/terminal.ts'
import type { Writer } from '../../foundation/database/database.ts'
import { FaultList } from '../../foundation/faults/faults.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { normaliseText } from '../../foundation/text/normalise.ts'
import { quote } from '../../foundation/text/quote.ts'
import { describeMissing, findMissingCodes } from '../history/missing-codes.ts'
import type { Retention } from '../history/revision-log.ts'
import { ShownCells } from '../import/shown-cells.ts'
import { changeSearchData } from './change-search-data.ts'
import { NAME_COLUMNS, type ReadName, readNames, readSynonymLines } from './files.ts'
import { findLostNames } from './lost-names.ts'
import {
  assertImportable,
  assertSource,
  CONFIRMED,
  findNameChanges,
  IMPORTED,
  listSources,
  MAX_SOURCE_LENGTH,
  MAX_WEIGHT,
  readStored,
  removeSource,
  type StoredName,
  storeNameChanges,
  storeSynonyms,
  weighSource,
} from './names.ts'
import { describeRepaired, withRepaired } from './read-rows.ts'

/** Adds `occupations import-names`, `names` and `import-synonyms`. */
export function addNameCommands(
  occupations: Command,
  withDatabase: WithDatabase,
  retention: () => Retention,
): void {
  occupations
    .command('import-names')
    .description(
      'import names for the search only, from CSV, JSON, NDJSON or XLSX files with the columns occupationCode, name and language (en or mi); they replace those of their source: with --source all of them, without it those of the same codes',
    )
    .argument('<file...>')
    .option('--add', 'add the names, and remove none')
    .option('--source <name>', `the source of the names; without it, "${IMPORTED}"`, readSource)
    .option('--replace', `also delete the names of all other codes and sources, but for "${CONFIRMED}"`)
    .option('--accept-lost-macrons', 'accept names that only remove macrons and other marks')
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
    .description('list the sources with their weights and the numbers of their names')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const sources = await withDatabase((database) => database.snapshot(listSources))
        const lines = sources.map(
          ({ source, weight, names, occupations }) =>
            `${quote(source)}  weight ${weight}  ${count(names, 'name')} of ${count(occupations, 'occupation')}`,
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
    .command('weigh')
    .description('set how much the names of a source count in the search beside others, which have weight 1')
    .argument('<source>')
    .argument('<weight>', `from 0.01 to ${MAX_WEIGHT}`, readWeight)
    .addOption(jsonOption)
    .action(
      action(async (source: string, weight: number, flags: { json?: true }) => {
        const changed = await withDatabase((database) =>
          changeSearchData(database, { command: 'names weigh', files: [] }, retention(), async (writer) => {
            const changed = await weighSource(writer, source, weight)
            return { result: changed, changed }
          }),
        )
        await report(
          flags,
          { source, weight, changed },
          `The source ${quote(source)} has the weight ${weight}.`,
        )
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
        const message = changed ? `Stored ${lists.length} lines of synonyms.` : 'The synonyms are unchanged.'
        await report(flags, { lines: lists.length, changed }, message)
      }),
    )
}

interface ImportNamesFlags {
  add?: true
  source?: string
  replace?: true
  acceptLostMacrons?: true
  json?: true
}

/**
 * @throws {InputRefused} for names of unknown codes, and for names that only lose macrons
 * @throws {UserError} if other sources have names, and no flag says what becomes of them
 */
async function storeNames(writer: Writer, names: readonly ReadName[], flags: ImportNamesFlags) {
  const { add, replace, source = IMPORTED } = flags
  if (add && replace) throw new UserError('--add and --replace exclude each other')
  assertImportable(source)
  await assertKnown(writer, names)
  const byCode = new Map<string, ReadName[]>()
  for (const name of names)
    byCode.set(name.occupationCode, [...(byCode.get(name.occupationCode) ?? []), name])
  const replaces = add ? 'none' : replace ? 'everything' : flags.source === undefined ? 'codes' : 'source'
  if (replaces === 'codes')
    assertAlone(source, (await findNameChanges(writer, source, byCode, 'everything')).removed)
  const changes = await findNameChanges(writer, source, byCode, replaces)
  if (!flags.acceptLostMacrons) {
    const faults = new FaultList()
    faults.add(findLostNames(names, changes.removed))
    faults.throwIfFound()
  }
  return await storeNameChanges(writer, source, changes)
}

/**
 * @param removed the names that --replace would delete
 * @throws {UserError} if some of them belong to other sources
 */
function assertAlone(source: string, removed: readonly StoredName[]): void {
  const bySource = Map.groupBy(removed, (name) => name.source)
  if ([...bySource.keys()].every((name) => name === source)) return
  const listed = [...bySource.keys()]
    .sort()
    .map((name) => `${formatNumber(bySource.get(name)?.length ?? 0)} of ${quote(name)}`)
  throw new UserError(
    `Other sources have names too. Give --add or --source to keep them, or --replace to delete ${count(removed.length, 'name')}: ${listed.join(', ')}`,
  )
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

function readWeight(text: string): number {
  const weight = Number(text)
  if (/^\d{1,2}(?:\.\d{1,2})?$/.test(text) && weight >= 0.01 && weight <= MAX_WEIGHT) return weight
  throw new InvalidArgumentError(`It must be a number from 0.01 to ${MAX_WEIGHT} with at most two decimals.`)
}
