import { type ChildProcess, spawn } from 'node:child_process'
import { pipeline } from 'node:stream/promises'
import { DatabaseUnusable } from '../foundation/database/database.ts'

/** A program of PostgreSQL to run. */
interface Invocation {
  readonly program: 'pg_dump' | 'pg_restore' | 'psql'
  /** The server to connect to, for a program that connects. */
  readonly url?: string
  readonly parameters: readonly string[]
}

/** What to do about a failure, where its message does not say it. */
function adviseOn(program: Invocation['program'], message: string): string {
  // It only reads the file of a backup.
  if (program === 'pg_restore') return '. The file may be damaged: use another backup, or copy this one again'
  if (program === 'psql' && message.endsWith('No space left on device'))
    return '. Free some space on the server and run the command again'
  return ''
}

/**
 * Runs a program of PostgreSQL.
 *
 * @throws {DatabaseUnusable} if it is missing or fails, without any of the data
 */
export async function runProgram(invocation: Invocation): Promise<string> {
  const { child, ended } = start(invocation, ['ignore', 'pipe', 'pipe'])
  const output: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
  await ended
  return Buffer.concat(output).toString('utf8')
}

/**
 * Runs two programs, and passes the output of the first one through `convert` to the second one. Both have ended when
 * this returns, whichever fails.
 *
 * @throws {DatabaseUnusable} as `runProgram` does
 */
export async function pipePrograms(
  from: Invocation,
  to: Invocation,
  convert: (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer | string>,
): Promise<void> {
  const source = start(from, ['ignore', 'pipe', 'pipe'])
  const target = start(to, ['pipe', 'ignore', 'pipe'])
  const { stdout } = source.child
  const { stdin } = target.child
  if (stdout === null || stdin === null) throw new Error('the programs have no pipes')
  const passed = pipeline(stdout, convert, stdin)
  // The pipe fails because a program does; that one says why.
  passed.catch(() => undefined)
  // It would write to nobody. The other way round, the second one reads the end of its input.
  target.ended.catch(() => source.child.kill('SIGKILL'))
  const [read, written] = await Promise.allSettled([source.ended, target.ended])
  for (const each of [written, read]) if (each.status === 'rejected') throw each.reason
  await passed
}

interface Started {
  readonly child: ChildProcess
  /** Rejects if it fails. */
  readonly ended: Promise<void>
}

/** The password is passed in the environment: other users of the machine can read command lines. */
function start({ program, url, parameters }: Invocation, stdio: ('ignore' | 'pipe')[]): Started {
  const address = url === undefined ? undefined : new URL(url)
  const password = decodeURIComponent(address?.password ?? '') || address?.searchParams.get('password')
  if (address !== undefined) {
    address.password = ''
    address.searchParams.delete('password')
  }
  const connection = address === undefined ? [] : [`--dbname=${address.toString().replaceAll('+', '%20')}`]
  const child = spawn(program, [...connection, ...parameters], {
    env: { ...process.env, ...(password && { PGPASSWORD: password }) },
    stdio,
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, 10_000)
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ENOENT'
          ? new DatabaseUnusable(
              `${program} is not installed: it comes with the client of PostgreSQL (postgresql-client)`,
            )
          : error,
      ),
    )
    child.once('close', (code, signal) => {
      if (code === 0) return resolve()
      const message = describe(said) ?? signal ?? `status ${code}`
      reject(new DatabaseUnusable(`${program} failed: ${message}${adviseOn(program, message)}`))
    })
  })
  ended.catch(() => undefined)
  return { child, ended }
}

/** The first error in a program's messages. Further lines, and what follows in quotes, may be data. */
function describe(said: string): string | undefined {
  const line = said.split('\n').find((each) => /\b(?:error|fatal|panic):/i.test(each))
  return line?.replace(/^.*?\b(?:error|fatal|panic): */i, '').replace(/: ".*/, '')
}
