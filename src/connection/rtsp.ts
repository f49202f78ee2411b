import type { IncomingMessage } from 'node:http'

/** What Node's parser is currently reading. Undocumented, so its presence is checked before use. */
interface Parsing {
  readonly parser?: { getCurrentBuffer?(): Buffer }
}

/**
 * Whether a request line ends with an RTSP version. Node's parser accepts one for GET, POST and OPTIONS and reports
 * it as the same HTTP version. Only HTTP/1.0 needs the check: RTSP/1.0 exists, RTSP/1.1 does not.
 */
export function isRtsp({ httpVersion, method, url, socket }: IncomingMessage): boolean {
  if (httpVersion !== '1.0') return false
  const received = (socket as Parsing).parser?.getCurrentBuffer?.()
  return received?.includes(`${method} ${url} RTSP/`, 0, 'latin1') === true
}
