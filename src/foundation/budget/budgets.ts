import { availableParallelism } from 'node:os'
import { Budget } from './budget.ts'

const MB = 2 ** 20

/** How long a client may take nothing, or send nothing, before it makes room for others, in milliseconds. */
const STALLED = 5_000

/** Everything of a serving process that its callers share. */
export type Budgets = Readonly<Record<BudgetName, Budget>>

/** Bytes that the changes by batches to a file may occupy while it is read, and those to all files together. */
export const MOST_BATCH_CHANGES = 64 * MB

/** One file is read in any case, whatever its caller: so there is no share. */
export function createChangesBudget(): Budget {
  return new Budget({
    capacity: MOST_BATCH_CHANGES,
    stalled: STALLED,
    detail: 'Too many files with batches are being read. Try again later.',
    retryAfter: 30,
  })
}

export const BUDGETS = [
  'batch-changes',
  'bodies',
  'codings',
  'compressions',
  'containers',
  'page-reads',
  'returned-files',
  'socket-buffers',
  'streams',
  'unread-responses',
  'uploads',
] as const
type BudgetName = (typeof BUDGETS)[number]

/** @param pageReads the most pages that the database reads at once */
export function createBudgets(pageReads: number): Budgets {
  return {
    'batch-changes': createChangesBudget(),
    /** Bytes of bodies that are read as a whole, from their first byte until their request has its response. */
    bodies: new Budget({
      capacity: 48 * MB,
      share: 24 * MB,
      stalled: STALLED,
      detail: 'Too many large bodies are arriving at once.',
      retryAfter: 1,
    }),
    /** Parts of lists of titles that are coded at once. */
    codings: new Budget({
      capacity: 2,
      waiting: { most: 128, share: 64 },
      detail: 'Too many lists of titles are being coded.',
      retryAfter: 5,
    }),
    /** Compressions at once, which leave a core to the event loop. Each page that waits occupies memory. */
    compressions: new Budget({
      capacity: Math.max(1, availableParallelism() - 1),
      waiting: { most: 16, share: 8 },
      detail: 'Too many pages are being compressed.',
      retryAfter: 1,
    }),
    /** Archives and workbooks that are opened at once, each in a process that may be as large as that of a check. */
    containers: new Budget({
      capacity: 1,
      waiting: { most: 16, share: 2 },
      detail: 'Other archives and workbooks are being opened. Try again later.',
      retryAfter: 10,
    }),
    'page-reads': new Budget({
      capacity: pageReads,
      waiting: { most: 4_000, share: 2_000 },
      detail: 'Too many pages are being read.',
      retryAfter: 1,
    }),
    /** Marked and corrected copies of files that are made at once, each in processes as large as that of a check. */
    'returned-files': new Budget({
      capacity: 1,
      waiting: { most: 16, share: 2 },
      detail: 'Other marked or corrected files are being made. Try again later.',
      retryAfter: 10,
    }),
    /** Bytes of responses that the operating system has accepted, and that their clients have not read. */
    'socket-buffers': new Budget({
      capacity: 64 * MB,
      share: 32 * MB,
      stalled: STALLED,
      detail: 'Too many responses are waiting for their clients to read them.',
      retryAfter: 1,
    }),
    /** Responses that are generated while they are sent. Each keeps up to half a megabyte in memory. */
    streams: new Budget({
      capacity: 64,
      share: 16,
      stalled: STALLED,
      detail: 'Too many downloads are in progress.',
      retryAfter: 5,
    }),
    /** Bytes of responses that their clients have not read yet. */
    'unread-responses': new Budget({
      capacity: 32 * MB,
      share: 16 * MB,
      stalled: STALLED,
      detail: 'Too many responses are waiting for their clients to read them.',
      retryAfter: 1,
    }),
    /** Each upload needs up to 3 MiB. */
    uploads: new Budget({
      capacity: 24,
      share: 8,
      detail: 'Too many uploads are in progress. Try again later.',
      retryAfter: 5,
    }),
  }
}
