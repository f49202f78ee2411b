import type { Database, Writer } from '../../foundation/database/database.ts'

/** Rolls back the transaction of a dry run. */
class DryRun<Result> extends Error {
  readonly result: Result

  constructor(result: Result) {
    super('dry run')
    this.result = result
  }
}

/** Changes the catalogue in one transaction, which does the same work in a dry run, but changes nothing. */
export async function changeCatalogue<Result>(
  database: Database,
  { dryRun = false, onWait }: { readonly dryRun?: boolean; readonly onWait?: () => void },
  work: (writer: Writer) => Promise<Result>,
): Promise<Result> {
  const change = async (writer: Writer) => {
    const result = await work(writer)
    if (dryRun) throw new DryRun(result)
    return result
  }
  try {
    return await database.write('catalogue', change, onWait)
  } catch (error) {
    if (error instanceof DryRun) return error.result
    throw error
  }
}
