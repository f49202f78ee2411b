import type { FastifyRequest } from 'fastify'
import { actorOf } from '../../api/access/principal.ts'
import { continueAfter } from '../../api/contract/results.ts'
import { callerOf } from '../../api/request/caller.ts'
import { whileConnected } from '../../api/request/while-connected.ts'
import { joinStart } from '../../engines/records/index.ts'
import type { SubmissionOptions } from '../options.ts'
import type { FileState, SubmissionRow } from '../submission.ts'
import { CONTAINERS } from './contract.ts'
import { FIRST_BYTES } from './decode.ts'
import type { Upload } from './receive.ts'

export const NO_CONTAINER = 'The content is neither a ZIP archive nor a workbook in the format XLSX.'

/** An archive with files begins like this, and an empty one like that. */
const STARTS: readonly Buffer[] = ['PK\u0003\u0004', 'PK\u0005\u0006'].map((start) =>
  Buffer.from(start, 'latin1'),
)

export function isContainerType(type: string): boolean {
  return CONTAINERS.some((each) => each === type)
}

/**
 * Does work with content whose first bytes show whether it is an archive or a workbook. What the work leaves of the
 * content is not read.
 */
export async function lookInto<T>(
  bytes: AsyncIterable<Buffer>,
  work: (content: AsyncIterable<Buffer>, isContainer: boolean) => Promise<T>,
): Promise<T> {
  const joined = joinStart(bytes, FIRST_BYTES)
  try {
    const first = await joined.next()
    const start = first.done === true ? Buffer.alloc(0) : first.value
    return await work(
      continueAfter(first, joined),
      STARTS.some((each) => start.subarray(0, each.length).equals(each)),
    )
  } finally {
    // Not awaited: a chunk that is waited for may never arrive.
    void joined.return().catch(() => undefined)
  }
}

/** Stores the files of an archive or a workbook, unless one of them is refused. */
export async function storeContainer(
  { containers }: SubmissionOptions,
  request: FastifyRequest,
  upload: Pick<Upload, 'content' | 'digest' | 'ifMatch' | 'ifNoneMatch'> & {
    readonly submission: SubmissionRow
    readonly only?: string
  },
): Promise<FileState[]> {
  return await whileConnected(request, (signal) =>
    containers.store({
      ...upload,
      actor: actorOf(request.principal),
      slots: request.server.slots.containers,
      owner: callerOf(request),
      signal,
    }),
  )
}
