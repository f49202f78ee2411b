import type { IncomingMessage } from 'node:http'
import { remember } from '../../foundation/cache/remember.ts'
import { Problem } from './problems.ts'

/** A version of the API. A new version is a new entry in VERSIONS, with its own routes under its prefix. */
export interface ApiVersion {
  /** The name that callers use and headers list. */
  readonly name: `${number}.${number}`
  /** Prefix of the paths of its routes. */
  readonly prefix: `/v${number}`
  readonly deprecated: boolean
}

/** All supported versions, newest first. Requests that name no version get the first one. */
export const VERSIONS: readonly [ApiVersion, ...ApiVersion[]] = [
  { name: '1.0', prefix: '/v1', deprecated: false },
]

const VERSIONED = /^\/v(\d+(?:\.\d+)*)(?=\/)/

const names = (deprecated: boolean) =>
  VERSIONS.filter((version) => version.deprecated === deprecated)
    .map(({ name }) => name)
    .join(', ')

/** Every response carries these. */
export const VERSION_HEADERS: Readonly<Record<string, string>> = {
  'api-supported-versions': names(false),
  ...(names(true) === '' ? {} : { 'api-deprecated-versions': names(true) }),
}

const refusals = new WeakMap<IncomingMessage, Problem>()

/** Routes requests by version, given the paths of the operations. */
export class VersionRouter {
  /** First segments of the operations' paths, such as `occupations`. */
  readonly #segments = new Set<string>()

  /** @param path the path of an operation, without the version */
  include(path: string): void {
    this.#segments.add(path.split('/')[1] ?? '')
  }

  /**
   * Returns the URL by which a request is routed. The version comes from `x-api-version`, otherwise from the URL,
   * otherwise it is the newest (API specification, section 9). URLs of other pages stay unchanged.
   */
  route(request: IncomingMessage): string {
    const { url, versionInUrl, rest, newest } = this.#read(request.url ?? '/')
    if (rest === undefined) return url

    const header = request.headers['x-api-version']
    if (header === undefined && newest !== undefined) return newest
    try {
      const asked = header === undefined ? undefined : readHeader(String(header))
      return (asked ?? findVersion(versionInUrl ?? VERSIONS[0].name, 'the URL')).prefix + rest
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      refusals.set(request, error)
      return VERSIONS[0].prefix + rest
    }
  }

  readonly #read = remember((sent): Address => {
    // The absolute form names the host as well (RFC 9112, section 3.2.2).
    const url = decodeUnreserved(sent.replace(/^https?:\/\/[^/?#]*/i, ''))
    const inUrl = VERSIONED.exec(url)
    const rest = inUrl === null ? url : url.slice(inUrl[0].length)
    const segment = /^\/([^/?]*)/.exec(rest)?.[1] ?? ''
    if (!this.#segments.has(segment)) return { url }
    const versionInUrl = inUrl?.[1]
    return {
      url,
      versionInUrl,
      rest,
      ...(versionInUrl === undefined && { newest: VERSIONS[0].prefix + rest }),
    }
  })
}

interface Address {
  readonly url: string
  readonly versionInUrl?: string | undefined
  /** The part after the version, if the path is an operation's. */
  readonly rest?: string
  /** The URL with the newest version, if the path is an operation's and names none. */
  readonly newest?: string
}

/** Decodes unreserved characters in the path, which does not change its meaning (RFC 3986, section 6.2.2.2). */
function decodeUnreserved(url: string): string {
  return url.replace(/^[^?]*/, (path) =>
    path.replace(/%[0-9a-f]{2}/gi, (escaped) => {
      const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
      return /[\w.~-]/.test(character) ? character : escaped
    }),
  )
}

/** @throws {Problem} if the request names a version that does not exist */
export function assertVersion(request: IncomingMessage): void {
  const refusal = refusals.get(request)
  if (refusal !== undefined) throw refusal
}

/** Node joins repeated headers with commas. Repeating the same version is accepted; different versions are not. */
function readHeader(value: string): ApiVersion | undefined {
  if (value.trim() === '') return undefined
  const asked = [...new Set(value.split(',').map((each) => each.trim().replace(/^v/i, '')))]
  const [first, ...others] = asked.map((name) => findVersion(name, 'the header x-api-version'))
  const other = others.find((version) => version !== first)
  if (other !== undefined) {
    throw new Problem(
      'unsupported-version',
      `The header x-api-version must be given only once, not as both ${first?.name} and ${other.name}.`,
    )
  }
  return first
}

function findVersion(asked: string, place: string): ApiVersion {
  const version = VERSIONS.find(({ name }) => name === asked || name === `${asked}.0`)
  if (version === undefined) {
    const supported = VERSIONS.map(({ name }) => name).join(', ')
    throw new Problem(
      'unsupported-version',
      `Version ${JSON.stringify(asked.slice(0, 20))} in ${place} is not supported. Supported versions: ${supported}.`,
    )
  }
  return version
}
