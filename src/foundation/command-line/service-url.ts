import { fail } from '../faults/user-error.ts'
import { dropEnd } from '../text/drop-end.ts'

/** How a command calls the URL of a service: an option or an argument. */
export type UrlField = '--url' | '<url>'

/** Parses the URL of a service as entered by a user, and drops the slashes at its end. */
export function readServiceUrl(text: string, field: UrlField): string {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  if (url === null)
    return fail({
      field,
      message: `must be a URL such as https://careers.example, not ${JSON.stringify(text)}${suggest(text)}`,
    })
  if (url.username || url.password)
    return fail({
      field,
      message: 'contains a user name or password. Remove them: MAHI_API_KEY is where commands read a key',
    })
  if (BLOCKED_PORTS.has(Number(url.port)))
    return fail({
      field,
      message: `has port ${url.port}, to which neither this command nor a browser connects, because it belongs to another protocol. Name the port of the service, such as 8080`,
    })
  const parts = url.pathname.split('/')
  const at = parts.findIndex((part) => /^(?:v\d|console|docs)$/.test(part))
  if (at > 0)
    return fail({
      field,
      message: `must be the URL of the service alone, without /${parts.slice(at).join('/')}`,
    })
  return dropEnd(text, (character) => character === '/')
}

/** The bad ports of the Fetch standard, section 2.9. `fetch` refuses them without an error code. */
export const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])

/** The likely URL of a host without a scheme. A name without a dot or a port may be anything. */
function suggest(text: string): string {
  if (!/^[\w-]+(?:(?:\.[\w-]+)+(?::\d+)?|:\d+)\/*$/.test(text)) return ''
  const scheme = /^(?:localhost|127\.)/.test(text) ? 'http' : 'https'
  return `. Is it ${scheme}://${text}?`
}
