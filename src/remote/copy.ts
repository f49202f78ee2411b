import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  explainFileError,
  fillAndSync,
  replaceFile,
  syncFolder,
} from '../foundation/command-line/output-file.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { compareCodePoints } from '../foundation/text/code-points.ts'

/** A record in the copy. */
export interface Line {
  readonly code: string
  /** Its JSON as the service sent it. */
  readonly text: string
}

/** Describes the copy in place. */
interface CopyState {
  /** The token from which the changes continue. */
  readonly token: string
  /** The number of the service's revision. */
  readonly revision: number
  readonly total: number
  /** The size of the file in bytes, and its SHA-256 in base64. */
  readonly size: number
  readonly digest: string
}

/** What a mirror stores between runs. */
export interface MirrorState extends CopyState {
  /** The URL of the copied service. */
  readonly url: string
  /** For each other format, the digest of the copy that it was written from. */
  readonly outputs?: Readonly<Record<string, string>>
  /** The copy about to replace the current one. If a run was killed, the file shows whether it did. */
  readonly pending?: CopyState & { readonly url: string }
}

export const FILE = 'occupations.ndjson'
const STATE = 'mirror.json'
const PART = `${FILE}.part`

/** Files that earlier versions or killed runs may have left. */
const LEFTOVERS = [PART, 'mirror.part.json', 'changes.ndjson']

/** A file of the copy was changed by something other than a mirror. */
export class CopyDamaged extends UserError {}

const FIRST_FIELD = /^\{"occupationCode":("(?:[^"\\]|\\.)*")[,}]/

/** Reads the code of a line; `undefined` if the line is not a record. */
export function readCode(text: string): string | undefined {
  try {
    // The service writes the code first, so the rest need not be parsed.
    const code = FIRST_FIELD.exec(text)?.[1]
    const value: unknown =
      code === undefined
        ? (JSON.parse(text) as { occupationCode?: unknown } | null)?.occupationCode
        : text.endsWith('}') && JSON.parse(code)
    return typeof value === 'string' && value !== '' ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads the lines of a file in order.
 *
 * @throws {CopyDamaged} at a line that is incomplete, out of order or not a record
 */
export async function* readLines(path: string): AsyncGenerator<Line> {
  if (!existsSync(path)) return
  let rest = ''
  let number = 0
  let last: string | undefined
  const damaged = () =>
    new CopyDamaged([{ file: path, line: number, message: 'is damaged. Fetch everything again with --full' }])
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 256 * 1024 })) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      number++
      const code = readCode(text)
      if (code === undefined || (last !== undefined && compareCodePoints(last, code) >= 0)) throw damaged()
      last = code
      yield { code, text }
    }
  }
  number++
  if (rest !== '') throw damaged()
}

/** A complete copy that is not yet in place. */
export interface StagedCopy {
  readonly total: number
  readonly size: number
  readonly digest: string
}

/** Writes a new copy beside the current one. */
export async function stageCopy(
  folder: string,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<StagedCopy> {
  const path = join(folder, PART)
  const hash = createHash('sha256')
  let [total, size] = [0, 0]
  try {
    await fillAndSync(path, async (append) => {
      for await (const line of lines) {
        const text = `${line}\n`
        hash.update(text)
        size += Buffer.byteLength(text)
        total++
        await append(text)
      }
    })
  } catch (error) {
    throw explainFileError(error, path)
  }
  return { total, size, digest: hash.digest('base64') }
}

/** Puts the staged copy in place. At every moment, the state describes the file, or both files that it may be. */
export async function commitCopy(
  folder: string,
  before: MirrorState | undefined,
  after: MirrorState,
): Promise<void> {
  const { outputs: _, pending: __, ...pending } = after
  const path = join(folder, FILE)
  if (before !== undefined) await writeState(folder, { ...before, pending })
  try {
    await rename(join(folder, PART), path)
    await syncFolder(folder)
  } catch (error) {
    throw explainFileError(error, path)
  }
  await writeState(folder, after)
}

/** The state of the copy in place; `undefined` if there is none to continue from. */
export async function readState(folder: string): Promise<MirrorState | undefined> {
  const state = await parseState(folder)
  const size = (await stat(join(folder, FILE)).catch(() => undefined))?.size
  if (state === undefined || size === undefined) return undefined
  const { pending, ...current } = state
  // The last run was killed at the very end; only the content shows which of the two copies is in place.
  if (pending !== undefined) {
    const digest = await digestFile(join(folder, FILE))
    if (digest === pending.digest) return { ...current, ...pending }
    return digest === current.digest ? current : undefined
  }
  return size === current.size ? current : undefined
}

async function parseState(folder: string): Promise<MirrorState | undefined> {
  try {
    const state = JSON.parse(await readFile(join(folder, STATE), 'utf8')) as Partial<MirrorState>
    const { url, token, revision, total, size, digest } = state
    const whole =
      typeof url === 'string' &&
      typeof token === 'string' &&
      typeof digest === 'string' &&
      [revision, total, size].every(Number.isSafeInteger)
    return whole ? (state as MirrorState) : undefined
  } catch {
    return undefined
  }
}

/** SHA-256 of a file, in base64. */
export async function digestFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) hash.update(chunk)
  return hash.digest('base64')
}

export async function writeState(folder: string, state: MirrorState): Promise<void> {
  await replaceFile(join(folder, STATE), (append) => append(`${JSON.stringify(state, null, 2)}\n`))
}

/** Removes the files left by killed runs. */
export async function tidyUp(folder: string): Promise<void> {
  for (const name of LEFTOVERS) await rm(join(folder, name), { force: true })
}
