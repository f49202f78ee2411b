import type { Value, Writer } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { Interner, PairTable } from '../../foundation/text/interner.ts'
import type { CodeCount } from '../submission/runs.ts'
import type { ValidationEntry } from '../submission/validation-entry.ts'
import { BlockStore, type Finding } from './blocks.ts'
import { BLOCK, type LearnerCount, learnerRows, POSTING_COLUMNS, PostingBlock } from './postings.ts'

export interface StoredRun {
  readonly totalCount: number
  readonly errorCount: number
  readonly warningCount: number
  readonly codes: readonly CodeCount[]
  /** The keys of the causes whose findings can be selected, by their numbers. */
  readonly causeKeys: readonly string[]
}

/**
 * Stores the findings of a run in order, with the data for filters and comparisons. Memory holds the postings of one
 * block, and the number of each student once per code.
 */
export async function storeFindings(
  writer: Writer,
  run: number,
  findings: AsyncIterable<Finding>,
  sealer: Sealer,
): Promise<StoredRun> {
  const sealing = sealer.begin()
  const store = new BlockStore(run, sealing)
  const counts = new CodeCounts()
  const causes = new CauseNumbers()
  let postings = new PostingBlock()
  let rows: (readonly Value[])[] = []
  let ordinal = 0
  const loadRows = async () => {
    await writer.load('result_block', ['run', 'part', 'block', 'content'], rows)
    rows = []
  }
  const endPostings = async () => {
    const block = Math.floor((ordinal - 1) / BLOCK)
    await writer.load('result_posting', POSTING_COLUMNS, postings.rows(run, block, sealer, sealing))
    postings = new PostingBlock()
  }
  for await (const finding of findings) {
    const { entry, detail } = finding
    postings.add(entry, detail.findingKey ?? keyOf(entry), causes.number(detail.cause))
    counts.add(entry, ordinal++)
    if (store.add(finding)) rows.push(...store.end())
    if (rows.length >= ROWS) await loadRows()
    if (ordinal % BLOCK === 0) await endPostings()
  }
  rows.push(...store.end())
  await loadRows()
  await endPostings()
  await writer.load('result_posting', POSTING_COLUMNS, learnerRows(run, counts.listLearners()))
  return { totalCount: ordinal, ...counts.summarise(), causeKeys: causes.keys }
}

/** The rows of blocks that are stored at once. */
const ROWS = 64

/** Identifies a finding without a key in other runs. */
function keyOf({ localId, errorCode, fileType, courseCode, studentId }: ValidationEntry): string {
  return JSON.stringify([localId, errorCode, fileType, courseCode, studentId])
}

/** The most causes whose findings can be selected. */
const MOST_CAUSES = 10_000

/** Numbers causes in the order of their first findings. */
class CauseNumbers {
  readonly #numbers = new Map<string, number>()

  get keys(): string[] {
    return [...this.#numbers.keys()]
  }

  number(key: string | undefined): number | undefined {
    if (key === undefined) return undefined
    const known = this.#numbers.get(key)
    if (known !== undefined || this.#numbers.size >= MOST_CAUSES) return known
    this.#numbers.set(key, this.#numbers.size)
    return this.#numbers.size - 1
  }
}

class CodeCounts {
  readonly #codes = new Map<
    string,
    { number: number; first: ValidationEntry; count: number; students: number }
  >()
  readonly #students = new Interner()
  /** The students of each code. */
  readonly #pairs = new PairTable()
  readonly #learners: LearnerCount[] = []
  #errors = 0
  #warnings = 0

  add(entry: ValidationEntry, ordinal: number): void {
    if (entry.errorType === 'Error') this.#errors++
    if (entry.errorType === 'Warning') this.#warnings++
    const code = entry.errorCode ?? ''
    let known = this.#codes.get(code)
    if (known === undefined) {
      known = { number: this.#codes.size, first: entry, count: 0, students: 0 }
      this.#codes.set(code, known)
    }
    known.count++
    if (entry.studentId === undefined) return
    const student = this.#students.intern(entry.studentId)
    this.#learners[student] ??= { first: ordinal, findings: 0 }
    this.#learners[student].findings++
    const pairs = this.#pairs.size
    if (this.#pairs.intern(known.number, student) === pairs) known.students++
  }

  /** The learners with most findings first. */
  listLearners(): LearnerCount[] {
    return this.#learners.toSorted((one, other) => other.findings - one.findings)
  }

  summarise(): Omit<StoredRun, 'totalCount' | 'causeKeys'> {
    const codes = [...this.#codes]
      .map(([errorCode, { first, count, students }]) => ({
        errorCode,
        errorType: first.errorType,
        fileType: first.fileType,
        count,
        students,
        first,
      }))
      .sort((one, other) => other.count - one.count || (one.errorCode < other.errorCode ? -1 : 1))
    return { errorCount: this.#errors, warningCount: this.#warnings, codes }
  }
}
