import type { IncomingMessage } from 'node:http'
import { bytesBeingParsed } from './node-internals.ts'

/**
 * Whether a request line ends with an RTSP version. Node's parser accepts one for GET, POST and OPTIONS and reports
 * it as the same HTTP version. Only HTTP/1.0 needs the check: RTSP/1.0 exists, RTSP/1.1 does not.
 */
export function isRtsp({ httpVersion, method, url, socket }: IncomingMessage): boolean {
  if (httpVersion !== '1.0') return false
  return bytesBeingParsed(socket)?.includes(`${method} ${url} RTSP/`, 0, 'latin1') === true
}
