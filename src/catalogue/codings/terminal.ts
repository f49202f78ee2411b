import type { ReadStream } from 'node:tty'
import { say } from '../../foundation/command-line/terminal.ts'
import type { ReviewTerminal } from './review.ts'

const INTERRUPT = '\u0003'
const END = '\u0004'
const BACKSPACES = new Set(['\b', '\u007f'])

/** Reads single keys from standard input: from a terminal as they are pressed, or from a file or a pipe. */
export async function withTerminal<T>(work: (terminal: ReviewTerminal) => Promise<T>): Promise<T> {
  const input: ReadStream = process.stdin
  const isTerminal = input.isTTY === true
  if (isTerminal) input.setRawMode(true)
  const keys = readCharacters(input)
  const next = async () => {
    const { value, done } = await keys.next()
    // In raw mode, the terminal sends Ctrl+C and Ctrl+D as characters.
    return done === true || (isTerminal && (value === INTERRUPT || value === END)) ? undefined : value
  }
  try {
    return await work({
      say,
      readKey: next,
      readLine: async (prompt) => {
        if (isTerminal) process.stderr.write(prompt)
        let line = ''
        for (;;) {
          const key = await next()
          if (key === undefined && line === '') return undefined
          if (key === undefined || key === '\r' || key === '\n') break
          const isBackspace = BACKSPACES.has(key)
          line = isBackspace ? line.slice(0, -1) : line + key
          if (isTerminal) process.stderr.write(isBackspace ? '\b \b' : key)
        }
        if (isTerminal) process.stderr.write('\n')
        return line
      },
    })
  } finally {
    if (isTerminal) input.setRawMode(false)
    input.destroy()
  }
}

async function* readCharacters(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  input.setEncoding('utf8')
  for await (const text of input) yield* String(text)
}
