import type { Database, Value } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { changeSubmission } from '../findings/change-submission.ts'
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
import { detailContext, entryContext } from '../findings/store-run.ts'

/** Rows changed per transaction: few enough not to block others for long. */
const ROWS = 1_000

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
  let next = 0
  for (let block = 0; ; block++) {
    const values = new Map(PERSONAL_FIELDS.map((field) => [field, new Set<string>()]))
    const end = (block + 1) * BLOCK
    const first = next
    for (;;) {
      const rows = await readRows(database, run, next, end)
      await change(rows.flatMap((row) => reencryptRow(sealer, sealing, run, row)))
      for (const { ordinal, document } of rows) {
        next = ordinal + 1
        const entry = JSON.parse(sealer.openText(document, entryContext(run, ordinal))) as ValidationEntry
        for (const [field, known] of values) if (entry[field] !== undefined) known.add(entry[field])
      }
      if (rows.length < ROWS) break
    }
    if (next > first)
      await change(
        [...values].flatMap(([field, known]) => renamePostings(sealer, { run, block, field }, known)),
      )
    // A trimmed run has only these.
    const hasKeys = await reencryptKeys(database, sealer, sealing, { run, token, block })
    if (next === first && !hasKeys) break
  }
  await reencryptSummary(database, sealer, sealing, { run, token })
  await markRun(database, { run, token }, sealer.keyId)
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
