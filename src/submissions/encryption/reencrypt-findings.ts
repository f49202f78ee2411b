import type { Database, Value } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { BLOCK_FINDINGS, blockContext, DOCUMENTS, type Part, Unpacked } from '../findings/blocks.ts'
import { changeSubmission } from '../findings/change-submission.ts'
import { detailContext, entryContext } from '../findings/finding-rows.ts'
import {
  BLOCK,
  KEY_FIELD,
  keysContext,
  nameValue,
  nameValues,
  PERSONAL_FIELDS,
} from '../findings/postings.ts'
import { summaryContext } from '../findings/runs.ts'
import type { ValidationEntry } from '../findings/schema.ts'

/** Rows changed per transaction: few enough not to block others for long. */
const ROWS = 1_000
const BLOCKS = ROWS / BLOCK_FINDINGS

/** Runs with findings that may not be encrypted with the key `$1`. Those of cancelled submissions are deleted anyway. */
const OTHER_RUNS = `
  select r.run, r.token, r.sealed from submission_run r join submission s on s.token = r.token
  where r.status = 'Processed' and coalesce(r.sealed, '') <> $1 and coalesce(s.ended, '') <> 'Cancelled'
  union all
  select run, token, sealed from submission s
  where published > 0 and coalesce(sealed, '') <> $1 and coalesce(ended, '') <> 'Cancelled'
    and not exists (select 1 from submission_run r where r.run = s.run)`

interface OtherRun {
  readonly run: number
  readonly token: string
  readonly sealed: string | null
}

/**
 * Encrypts the findings of all runs with the first key, in short transactions, and returns the number of runs.
 * Readers see the same findings throughout, and an interrupted call can be repeated.
 */
export async function reencryptRuns(database: Database, sealer: Sealer): Promise<number> {
  const runs = await database.all<OtherRun>(OTHER_RUNS, [sealer.keyId])
  for (const run of runs) await reencryptRun(database, sealer, run)
  return runs.length
}

async function reencryptRun(database: Database, sealer: Sealer, { run, token, sealed }: OtherRun) {
  // From here on, readers expect that findings may be encrypted.
  if (sealed === null) await markRun(database, { run, token }, '')
  const sealing = sealer.begin()
  const change = (statements: readonly Statement[]) => runAll(database, token, statements)
  for (let block = 0; ; block++) {
    const values = new Map(PERSONAL_FIELDS.map((field) => [field, new Set<string>()]))
    const note = (entry: ValidationEntry) => {
      for (const [field, known] of values) if (entry[field] !== undefined) known.add(entry[field])
    }
    const part = { run, first: block * BLOCK, end: (block + 1) * BLOCK }
    const inRows = await reencryptRows(database, sealer, sealing, part, change, note)
    const inBlocks = await reencryptBlocks(database, sealer, sealing, part, change, note)
    const found = inRows || inBlocks
    if (found)
      await change(
        [...values].flatMap(([field, known]) => renamePostings(sealer, { run, block, field }, known)),
      )
    // A trimmed run has only these.
    const hasKeys = await reencryptKeys(database, sealer, sealing, { run, token, block })
    if (!found && !hasKeys) break
  }
  await reencryptSummary(database, sealer, sealing, { run, token })
  await markRun(database, { run, token }, sealer.keyId)
}

/** The findings of a run from one ordinal to before another. */
interface Range {
  readonly run: number
  readonly first: number
  readonly end: number
}

type Change = (statements: readonly Statement[]) => Promise<void>
type Note = (entry: ValidationEntry) => void

/** Returns whether there are any. */
async function reencryptRows(
  database: Database,
  sealer: Sealer,
  sealing: Sealing,
  { run, first, end }: Range,
  change: Change,
  note: Note,
): Promise<boolean> {
  for (let next = first; ; ) {
    const rows = await readRows(database, run, next, end)
    await change(rows.flatMap((row) => reencryptRow(sealer, sealing, run, row)))
    for (const { ordinal, document } of rows) {
      next = ordinal + 1
      note(JSON.parse(sealer.openText(document, entryContext(run, ordinal))) as ValidationEntry)
    }
    if (rows.length < ROWS) return next > first
  }
}

/** The same for findings in blocks. A block that is only partly in the range is noted with it. */
async function reencryptBlocks(
  database: Database,
  sealer: Sealer,
  sealing: Sealing,
  { run, first, end }: Range,
  change: Change,
  note: Note,
): Promise<boolean> {
  const last = Math.ceil(end / BLOCK_FINDINGS)
  let found = false
  for (let block = Math.floor(first / BLOCK_FINDINGS); block < last; block += BLOCKS) {
    const rows = await database.all<{ part: Part; block: number; content: Uint8Array }>(
      'select part, block, content from result_block where run = $1 and block >= $2 and block < $3',
      [run, block, Math.min(last, block + BLOCKS)],
    )
    if (rows.length === 0) return found
    found = true
    const opened = rows.map((row) => {
      const context = blockContext(run, row.part, row.block)
      return { ...row, context, open: sealer.open(row.content, context) }
    })
    for (const { part, open } of opened) {
      if (part !== DOCUMENTS) continue
      const unpacked = new Unpacked(open)
      for (let index = 0; index < unpacked.count; index++)
        note(JSON.parse(unpacked.text(index)) as ValidationEntry)
    }
    await change(
      opened
        .filter(({ content }) => !sealer.isCurrent(content))
        .map(({ part, block, open, context }) => [
          'update result_block set content = $4 where run = $1 and part = $2 and block = $3',
          [run, part, block, sealing.seal(open, context)],
        ]),
    )
  }
  return found
}

interface EntryRow {
  readonly ordinal: number
  readonly document: string
  readonly detail: string | null
}

async function readRows(database: Database, run: number, from: number, end: number): Promise<EntryRow[]> {
  return await database.all<EntryRow>(
    `select ordinal, document, detail from result_entry
     where run = $1 and ordinal >= $2 and ordinal < $3 order by ordinal limit ${ROWS}`,
    [run, from, end],
  )
}

type Statement = readonly [sql: string, parameters: readonly Value[]]

function reencryptRow(sealer: Sealer, sealing: Sealing, run: number, row: EntryRow): Statement[] {
  const { ordinal, document, detail } = row
  if (sealer.isCurrentText(document)) return []
  const context = entryContext(run, ordinal)
  const again = (text: string, where: string) => sealing.sealText(sealer.openText(text, where), where)
  return [
    [
      'update result_entry set document = $3, detail = $4 where run = $1 and ordinal = $2',
      [
        run,
        ordinal,
        again(document, context),
        detail === null ? null : again(detail, detailContext(context)),
      ],
    ],
  ]
}

/** Posts the entries of a block under the hashes that the first key gives. */
function renamePostings(
  sealer: Sealer,
  { run, block, field }: { run: number; block: number; field: string },
  values: ReadonlySet<string>,
): Statement[] {
  return [...values].map((value) => {
    const name = nameValue(sealer, run, field, value)
    const others = nameValues(sealer, run, field, value).filter((each) => each !== name)
    return [
      `update result_posting set value = $4 where run = $1 and block = $2 and field = $3
       and value in (${others.map((_, index) => `$${index + 5}`)})`,
      [run, block, field, name, ...others],
    ]
  })
}

/** Returns whether the block exists. */
async function reencryptKeys(
  database: Database,
  sealer: Sealer,
  sealing: Sealing,
  { run, token, block }: { run: number; token: string; block: number },
): Promise<boolean> {
  const row = await database.get<{ ordinals: Uint8Array }>(
    `select ordinals from result_posting where run = $1 and field = '${KEY_FIELD}' and value = '' and block = $2`,
    [run, block],
  )
  if (row === undefined) return false
  if (sealer.isCurrent(row.ordinals)) return true
  const context = keysContext(run, block)
  const data = sealing.seal(sealer.open(row.ordinals, context), context)
  const update = `update result_posting set ordinals = $3
    where run = $1 and field = '${KEY_FIELD}' and value = '' and block = $2`
  await runAll(database, token, [[update, [run, block, data]]])
  return true
}

async function reencryptSummary(
  database: Database,
  sealer: Sealer,
  sealing: Sealing,
  { run, token }: { run: number; token: string },
): Promise<void> {
  const row = await database.get<{ summary: string | null }>(
    'select summary from submission_run where run = $1',
    [run],
  )
  if (row === undefined || row.summary === null) return
  const context = summaryContext(run)
  const summary = sealing.sealText(sealer.openText(row.summary, context), context)
  await runAll(database, token, [['update submission_run set summary = $2 where run = $1', [run, summary]]])
}

async function markRun(
  database: Database,
  { run, token }: { run: number; token: string },
  sealed: string | null,
): Promise<void> {
  await runAll(database, token, [
    ['update submission_run set sealed = $2 where run = $1', [run, sealed]],
    ['update submission set sealed = $3 where token = $2 and run = $1', [run, token, sealed]],
  ])
}

/** Runs updates in short transactions. A row that was deleted in the meantime is not stored again. */
async function runAll(database: Database, token: string, statements: readonly Statement[]): Promise<void> {
  for (let first = 0; first < statements.length; first += ROWS) {
    await changeSubmission(database, token, async (writer) => {
      for (const [sql, parameters] of statements.slice(first, first + ROWS)) await writer.run(sql, parameters)
    })
  }
}
