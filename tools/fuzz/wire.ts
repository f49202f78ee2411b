import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  /** By name in lower case; of repeated ones all values, with commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The head as it came. */
  readonly head: string
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [ -~]+$/
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/
/** Fields that an answer has once (RFC 9110, section 5.3). */
const SINGLE = [
  'content-length',
  'content-type',
  'date',
  'etag',
  'connection',
  'x-request-id',
  'retry-after',
  'location',
]

/** A connection that sends bytes as they are, and reads answers as strictly as RFC 9112 has them. */
export class Wire {
  readonly #socket: Socket
  readonly #deadline: number
  #received = Buffer.alloc(0)
  #ended = false
  #reset = false
  #wake: () => void = () => undefined
  private constructor(socket: Socket, deadline: number) {
    this.#socket = socket
    this.#deadline = deadline
    const wake = () => this.#wake()
    socket.on('data', (bytes) => {
      this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
      wake()
    })
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#ended = true
        wake()
      })
    }
    // What is sent after the service has closed fails; what it has said before counts.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#reset ||= error.code === 'ECONNRESET'
    })
  }

  /** @param deadline longest wait for what must come, in milliseconds: whoever waits longer waits for ever */
  static async open(port: number, deadline = 240_000): Promise<Wire> {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true })
    await once(socket, 'connect')
    return new Wire(socket, deadline)
  }

  /** Waits until the system has taken the bytes, or the connection is gone. */
  async send(bytes: string): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.write(bytes, 'latin1', () => resolve()))
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Whether the service has closed it, or has said something that nobody asked for. */
  get isSpent(): boolean {
    return this.#ended || this.#received.length > 0
  }

  /** The next answer, or `undefined` where the connection ends before it; `head` tells that it has no body. */
  async read(head: boolean): Promise<Answer | undefined> {
    for (;;) {
      const answer = this.#take(head)
      if (answer !== undefined) return answer
      if (this.#ended && this.#received.length === 0) return undefined
      if (this.#ended) throw new Error(`the connection ${this.#reset ? 'was reset' : 'ended'} in an answer`)
      await this.#wait('an answer')
    }
  }

  /** Waits until the service has closed the connection, and has said no more. */
  async ended({ mayHaveBody = false } = {}): Promise<void> {
    while (!this.#ended) await this.#wait('the end of the connection')
    if (this.#received.length > 0 && !mayHaveBody) throw new Error('there are bytes after the last answer')
  }

  #take(withoutBody: boolean): Answer | undefined {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return undefined
    const head = this.#received.toString('latin1', 0, end)
    const [statusLine = '', ...lines] = head.split('\r\n')
    const status = Number(STATUS_LINE.exec(statusLine)?.[1] ?? Number.NaN)
    if (Number.isNaN(status))
      throw new Error(`this is no status line: ${JSON.stringify(statusLine.slice(0, 200))}`)
    const headers = readFields(lines)
    const start = end + 4
    if (headers['transfer-encoding'] === 'chunked' && !withoutBody) {
      const chunked = readChunks(this.#received, start)
      if (chunked === undefined) return undefined
      this.#received = this.#received.subarray(chunked.end)
      return { status, headers, body: chunked.body, head }
    }
    const length = lengthOf(status, headers, withoutBody)
    if (this.#received.length < start + length) return undefined
    const body = this.#received.subarray(start, start + length)
    this.#received = this.#received.subarray(start + length)
    return { status, headers, body, head }
  }

  async #wait(what: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new Error(`${what} did not come in ${this.#deadline} ms`))
      const timer = setTimeout(fail, this.#deadline)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function readFields(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, given = '', value = ''] = FIELD_LINE.exec(line) ?? []
    const name = given.toLowerCase()
    if (name === '') throw new Error(`this is no header: ${JSON.stringify(line.slice(0, 200))}`)
    if (name in headers && SINGLE.includes(name)) throw new Error(`${name} is there twice`)
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return headers
}

/** The body that begins at a place, in the chunked coding (RFC 9112, section 7.1); `undefined` while it is not whole. */
function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = bytes.toString('latin1', at, line)
    if (!/^[0-9a-f]+$/i.test(size)) throw new Error(`the size of a chunk is ${JSON.stringify(size)}`)
    const [first, length] = [line + 2, Number.parseInt(size, 16)]
    if (bytes.length < first + length + 2) return undefined
    if (bytes.toString('latin1', first + length, first + length + 2) !== '\r\n')
      throw new Error('a chunk does not end where it says')
    if (length === 0) return { body: Buffer.concat(chunks), end: first + 2 }
    chunks.push(bytes.subarray(first, first + length))
    at = first + length + 2
  }
}

/** The bytes that the body has (RFC 9112, section 6.3). */
function lengthOf(status: number, headers: Record<string, string>, withoutBody: boolean): number {
  const given = headers['content-length']
  if (headers['transfer-encoding'] !== undefined && !withoutBody)
    throw new Error('the answer has a transfer coding')
  if (status < 200 || status === 204) {
    if (given !== undefined) throw new Error(`a ${status} has a Content-Length (RFC 9110, section 8.6)`)
    return 0
  }
  if (withoutBody || status === 304) return 0
  if (given === undefined || !/^\d+$/.test(given)) throw new Error(`the length of the body is ${given}`)
  return Number(given)
}
