import type { IncomingMessage } from 'node:http'

/** What Node's parser is reading at the moment; undocumented, and so looked for before it is used. */
interface Parsing {
  readonly parser?: { getCurrentBuffer?(): Buffer }
}

/**
 * Whether a request line ends with an RTSP version, which Node's parser accepts for GET, POST and OPTIONS and reports
 * as the same version of HTTP. Only HTTP/1.0 can be meant: there is an RTSP/1.0, and no RTSP/1.1.
 */
export function isRtsp({ httpVersion, method, url, socket }: IncomingMessage): boolean {
  if (httpVersion !== '1.0') return false
  const received = (socket as Parsing).parser?.getCurrentBuffer?.()
  return received?.includes(`${method} ${url} RTSP/`, 0, 'latin1') === true
}
