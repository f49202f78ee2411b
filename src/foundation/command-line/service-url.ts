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
  const parts = url.pathname.split('/')
  const at = parts.findIndex((part) => /^(?:v\d|console|docs)$/.test(part))
  if (at > 0)
    return fail({
      field,
      message: `must be the URL of the service alone, without /${parts.slice(at).join('/')}`,
    })
  return dropEnd(text, (character) => character === '/')
}

/** The likely URL of a host without a scheme. A name without a dot or a port may be anything. */
function suggest(text: string): string {
  if (!/^[\w-]+(?:(?:\.[\w-]+)+(?::\d+)?|:\d+)\/*$/.test(text)) return ''
  const scheme = /^(?:localhost|127\.)/.test(text) ? 'http' : 'https'
  return `. Is it ${scheme}://${text}?`
}
