import type { Database, Reader } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { blockContext, DOCUMENTS, Unpacked } from '../../src/submissions/findings/blocks.ts'

/** The stored documents of the findings of all runs, by run, in order, in blocks and in rows. */
export async function readStored(reader: Reader, sealer = new Sealer()): Promise<Map<number, string[]>> {
  const stored = new Map<number, string[]>()
  const of = (run: number) => {
    const found = stored.get(run) ?? []
    stored.set(run, found)
    return found
  }
  const blocks = await reader.all<{ run: number; block: number; content: Uint8Array }>(
    `select run, block, content from result_block where part = ${DOCUMENTS} order by run, block`,
  )
  for (const { run, block, content } of blocks) {
    const unpacked = new Unpacked(sealer.open(content, blockContext(run, DOCUMENTS, block)))
    of(run).push(...Array.from({ length: unpacked.count }, (_, index) => unpacked.text(index)))
  }
  const rows = await reader.all<{ run: number; document: string }>(
    'select run, document from result_entry order by run, ordinal',
  )
  for (const { run, document } of rows) of(run).push(document)
  return stored
}

/** The number of stored findings of all runs. */
export async function countStored(reader: Reader, sealer?: Sealer): Promise<number> {
  return [...(await readStored(reader, sealer)).values()].reduce((sum, { length }) => sum + length, 0)
}

/** Lets the migration to blocks be new, as in a rolling restart: findings are stored in rows meanwhile. */
export async function storeInRows(database: Database): Promise<void> {
  await database.write('schema', async (writer) => {
    await writer.run(`update migration set applied = $1 where name = '0022-finding-blocks'`, [Date.now()])
    await writer.run(`update migration set applied = $1 where name = '0001-initial'`, [0])
  })
}
