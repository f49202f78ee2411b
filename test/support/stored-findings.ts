import type { Reader } from '../../src/foundation/database/database.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { blockContext, DOCUMENTS, textOf, unpackLines } from '../../src/submissions/findings/blocks.ts'

/** The stored documents of the findings of all runs, by run, in order. */
export async function readStored(reader: Reader, sealer = new Sealer()): Promise<Map<number, string[]>> {
  const stored = new Map<number, string[]>()
  const blocks = await reader.all<{ run: number; block: number; content: Uint8Array }>(
    `select run, block, content from result_block where part = ${DOCUMENTS} order by run, block`,
  )
  for (const { run, block, content } of blocks) {
    const texts = unpackLines(sealer.open(content, blockContext(run, DOCUMENTS, block))).map(textOf)
    stored.set(run, [...(stored.get(run) ?? []), ...texts])
  }
  return stored
}

/** The number of stored findings of all runs. */
export async function countStored(reader: Reader, sealer?: Sealer): Promise<number> {
  return [...(await readStored(reader, sealer)).values()].reduce((sum, { length }) => sum + length, 0)
}
