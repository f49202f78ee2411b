import { Agent, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

/** A request down to its headers, in their order; a name may come twice. */
export interface ExactRequest {
  readonly method: 'GET' | 'HEAD'
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** An answer as it came: nothing that the client would hide or join is lost. */
export interface ExactAnswer {
  readonly status: number
  /** Names in lower case, in the order in which they were sent. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The body without its compression. */
  readonly body: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** Sends exactly this, and no header but these and the host. */
export async function askExactly(
  port: number,
  { method, path, headers }: ExactRequest,
): Promise<ExactAnswer> {
  return await new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, agent }
    // A list of headers goes out as it is: an object would join those of one name.
    const list = ['host', 'localhost', ...headers.flat()]
    const sent = request({ ...options, headers: list }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const encoding = response.headers['content-encoding']
        resolve({
          status: response.statusCode ?? 0,
          headers: pair(response.rawHeaders),
          body: decode(Buffer.concat(chunks), encoding),
        })
      })
    })
    sent.once('error', reject)
    sent.end()
  })
}

/** The one value of a header; `undefined` where there is none. */
export function headerOf({ headers }: ExactAnswer, name: string): string | undefined {
  const values = headers.filter(([each]) => each === name).map(([, value]) => value)
  if (values.length > 1) throw new Error(`${name} comes ${values.length} times: ${values.join(' and ')}`)
  return values[0]
}

function pair(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1] ?? '']] : []))
}

function decode(bytes: Buffer, encoding: string | undefined): string {
  if (bytes.length === 0) return ''
  if (encoding === 'br') return brotliDecompressSync(bytes).toString()
  return (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString()
}
