import { Readable } from 'node:stream'
import { runProgram } from '../../src/cli.ts'
import { Installation, type Outcome, type RunOptions } from './command.ts'

/** The command that has begun last: they share this process, so one waits for the other. */
let last: Promise<unknown> = Promise.resolve()

/**
 * An installation whose commands run in this process, because a process of its own takes most of the time of a short
 * command to load the program. For tests of what a command does and prints. Those of signals, pipes, users and memory
 * need an `Installation`.
 */
export class InstallationHere extends Installation {
  override async run(parameters: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    const turn = last.then(() => this.#runHere(parameters, options))
    last = turn.catch(() => undefined)
    return await turn
  }

  async #runHere(parameters: readonly string[], { input, environment }: RunOptions): Promise<Outcome> {
    const written = { stdout: '', stderr: '' }
    const restore = [
      setEnvironment(this.environment(environment)),
      setFolder(this.folder),
      setInput(input),
      gather('stdout', written),
      gather('stderr', written),
    ]
    process.exitCode = undefined
    try {
      await runProgram(parameters)
      return { code: Number(process.exitCode ?? 0), signal: null, ...written }
    } finally {
      process.exitCode = undefined
      for (const each of restore) each()
    }
  }
}

function setEnvironment(environment: NodeJS.ProcessEnv): () => void {
  const before = { ...process.env }
  replaceEnvironment(environment)
  return () => replaceEnvironment(before)
}

/** Changes the object in place, because Node.js reads some of its values, such as TMPDIR, from the process itself. */
function replaceEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) process.env[name] = value
}

function setFolder(folder: string): () => void {
  const before = process.cwd()
  process.chdir(folder)
  return () => process.chdir(before)
}

function setInput(input: RunOptions['input']): () => void {
  const before = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {}
  const value =
    input instanceof Readable ? input : Readable.from(input === undefined ? [] : [Buffer.from(input)])
  Object.defineProperty(process, 'stdin', { value, configurable: true })
  return () => void Object.defineProperty(process, 'stdin', before)
}

function gather(name: 'stdout' | 'stderr', written: Record<typeof name, string>): () => void {
  const stream = process[name]
  const { write } = stream
  stream.write = (text: string | Uint8Array, ...rest: unknown[]) => {
    written[name] += typeof text === 'string' ? text : Buffer.from(text).toString()
    const done = rest.at(-1)
    if (typeof done === 'function') setImmediate(() => done())
    return true
  }
  return () => {
    stream.write = write
  }
}
