import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { distance } from 'fastest-levenshtein'
import type { RateLimit } from './api/access/limits.ts'
import { MOST_RECORDS } from './catalogue/records/limits.ts'
import { LEAST_MEMORY_MB, readContainerLimit } from './foundation/command-line/memory.ts'
import { readSealKeys } from './foundation/database/seal-keys.ts'
import { UserError } from './foundation/faults/user-error.ts'
import { isLoopbackHost } from './foundation/is-loopback-host.ts'
import { joinOr } from './foundation/text/join-or.ts'
import { isTimeZone } from './foundation/text/zoned-time.ts'

/** One or more invalid settings, with all faults. */
export class SettingsRefused extends UserError {
  constructor(faults: readonly string[]) {
    super(faults.map((message) => ({ message })))
  }
}

interface Definition<T, Default extends string | undefined = string | undefined> {
  /** As written in the environment; `undefined` if the setting has no default. */
  readonly default: Default
  readonly meaning: string
  /** @throws {Error} whose message says what is allowed */
  readonly read: (text: string) => T
  /** Whether the value can contain a password (`true`), or is a secret as a whole. */
  readonly secret?: boolean | 'whole'
}

const define = <T, const Default extends string | undefined>(definition: Definition<T, Default>) => definition

/** All settings, by their names in the environment. */
export const SETTINGS = {
  MEMORY_MB: define({
    default: undefined,
    meaning:
      "megabytes of memory that a server or a worker keeps within; by default the container's limit, if it has one",
    read: readWhole(LEAST_MEMORY_MB, 1_048_576),
  }),
  HOST: define({ default: '127.0.0.1', meaning: 'IP address or host name to listen on', read: readText }),
  PORT: define({
    default: '8080',
    meaning: 'port to listen on; 0 selects a free port',
    read: readWhole(0, 65535),
  }),
  DATABASE_URL: define({
    default: 'sqlite:var/mahi.db',
    meaning: 'sqlite:FILE, or postgres://user@host/database',
    read: readDatabaseUrl,
    secret: true,
  }),
  DATABASE_POOL_SIZE: define({
    default: '10',
    meaning: 'most connections to each PostgreSQL server',
    read: readWhole(2, 1000),
  }),
  REDIS_URL: define({
    default: undefined,
    meaning: 'redis:// or rediss:// URL of the Redis in which processes share rate limits',
    read: readRedisUrl,
    secret: true,
  }),
  OCCUPATIONS_ACCESS: define({
    default: 'key',
    meaning: 'key: every caller needs an API key; public: anyone can read the catalogue',
    read: readOneOf(['key', 'public']),
  }),
  OCCUPATIONS_LIMIT_MAX: define({
    default: '100',
    meaning: 'most records per page',
    read: readWhole(1, MOST_RECORDS),
  }),
  HISTORY_DAYS: define({
    default: '90',
    meaning:
      'days for which a superseded revision of the catalogue stays readable; tokens of the change feed last as long',
    read: readWhole(1, 36_500),
  }),
  SNAPSHOT_FOLDER: define({
    default: 'var/snapshots',
    meaning: 'folder for the snapshots of the catalogue; processes of one database may share it',
    read: readText,
  }),
  RESULTS_PAGE_SIZE_MAX: define({
    default: '1000',
    meaning: 'most entries per page',
    read: readWhole(1, 10_000),
  }),
  RATE_LIMIT_OCCUPATIONS: define({
    default: '600/60',
    meaning: 'requests/seconds per credential for the catalogue, or off',
    read: readLimit,
  }),
  RATE_LIMIT_RESULTS: define({
    default: '120/60',
    meaning: 'requests/seconds per credential and organisation for validation results, or off',
    read: readLimit,
  }),
  RATE_LIMIT_ORGANISATION: define({
    default: '2400/60',
    meaning: 'requests/seconds of all credentials together for the data of one organisation, or off',
    read: readLimit,
  }),
  RATE_LIMIT_FAILED_CREDENTIALS: define({
    default: '30/60',
    meaning: 'requests/seconds without a valid credential per IP address, or off',
    read: readLimit,
  }),
  RATE_LIMIT_SUBMISSIONS: define({
    default: '600/60',
    meaning: 'requests/seconds per credential and organisation for submissions, or off',
    read: readLimit,
  }),
  WORKERS: define({
    default: '1',
    meaning:
      'validation runs that are checked at a time, and uploads that are read; 0 if other processes run "mahi work"',
    read: readWhole(0, 64),
  }),
  DEFINITIONS: define({
    default: 'sdr,gtfs',
    meaning: 'definitions of submissions, comma-separated: names or folders; the first is the default',
    read: readList,
  }),
  TIME_ZONE: define({
    default: 'UTC',
    meaning: 'time zone in which the dates of returns are read and shown, such as Pacific/Auckland',
    read: readTimeZone,
  }),
  UPLOAD_MAX_MB: define({
    default: '1024',
    meaning: 'megabytes of an uploaded file, unpacked',
    read: readWhole(1, 65536),
  }),
  CHECK_SECONDS: define({
    default: '3600',
    meaning: 'time limit of a validation run, in seconds',
    read: readWhole(1, 86_400),
  }),
  CHECK_RULE_SECONDS: define({
    default: '30',
    meaning:
      'time limit of a rule, in seconds; a rule that exceeds it is stopped, and prevents submitting unless it only warns',
    read: readWhole(1, 86_400),
  }),
  CHECK_MEMORY_MB: define({
    default: '2048',
    meaning: 'megabytes of memory that a validation run may use, and the reading of an upload',
    read: readWhole(128, 1_048_576),
  }),
  CHECK_FOLDER: define({
    default: undefined,
    meaning: 'folder for the temporary files of workers',
    read: readText,
  }),
  RETENTION_FILES_DAYS: define({
    default: '90',
    meaning:
      'days after the last change, and after its return has closed, for which the files of a submission are kept, or off',
    read: readDaysOrOff,
  }),
  RETENTION_RESULTS_DAYS: define({
    default: '365',
    meaning: 'days after the last run for which the findings of a submission are kept, or off',
    read: readDaysOrOff,
  }),
  ENCRYPTION_KEYS: define({
    default: undefined,
    meaning:
      'keys that encrypt files and findings, such as k1:BASE64, comma-separated or, in the file of ENCRYPTION_KEYS_FILE, one on each line; the first encrypts',
    read: readSealKeys,
    secret: 'whole',
  }),
  ERASURE_LOG: define({
    default: undefined,
    meaning:
      'file outside of the backups that records deleted submissions, so that a restore deletes them again',
    read: readText,
  }),
  JWT_ISSUER: define({
    default: undefined,
    meaning: 'issuer (iss) of accepted bearer tokens',
    read: readText,
  }),
  JWT_AUDIENCE: define({
    default: undefined,
    meaning: 'audience (aud) of accepted bearer tokens',
    read: readText,
  }),
  JWT_JWKS_URL: define({
    default: undefined,
    meaning: "URL of the issuer's public keys (a JWK Set)",
    read: readSecureAddress('https://login.example/keys'),
  }),
  JWT_EID_CLAIM: define({
    default: 'eid',
    meaning: 'claim of a bearer token with its organisations, a string or a list',
    read: readText,
  }),
  CONSOLE: define({
    default: 'off',
    meaning: 'on: pages for people at /console',
    read: readOneOf(['on', 'off']),
  }),
  PUBLIC_URL: define({
    default: undefined,
    meaning:
      'where browsers find the service, such as https://mahi.example.nz, for the links of mahi console; signing in with OIDC needs it',
    read: readWebAddress('https://mahi.example.nz'),
  }),
  OIDC_ISSUER: define({
    default: undefined,
    meaning: 'identity provider with which people sign in to the console',
    read: readSecureAddress('https://login.example'),
  }),
  OIDC_CLIENT_ID: define({
    default: undefined,
    meaning: 'the client that the identity provider knows the console as',
    read: readText,
  }),
  OIDC_CLIENT_SECRET: define({
    default: undefined,
    meaning: 'the password of that client',
    read: readText,
    secret: 'whole',
  }),
  CORS_ORIGINS: define({
    default: '*',
    meaning: 'origins of web pages that may call the API, comma-separated, or *',
    read: readOrigins,
  }),
  TRUST_PROXY: define({
    default: 'false',
    meaning: 'IP addresses of proxies whose X-Forwarded-For is trusted, comma-separated, or false',
    read: readProxies,
  }),
  PAGE_CACHE_MB: define({
    default: '64',
    meaning: 'megabytes of rendered pages kept in memory; 0 turns the cache off',
    read: readWhole(0, 65536),
  }),
  METRICS_PORT: define({
    default: '9464',
    meaning:
      'port of the Prometheus metrics on loopback, or with the address to listen on, such as 0.0.0.0:9464; 0 for none',
    read: readMetricsPort,
  }),
  DRAIN_SECONDS: define({
    default: '0',
    meaning: 'seconds between SIGTERM and the end of listening, during which /readyz fails',
    read: readWhole(0, 8),
  }),
  SHUTDOWN_GRACE: define({
    default: '120',
    meaning:
      'seconds that uploads and exports in progress may still take after SIGTERM; other requests have 9',
    read: readWhole(0, 3600),
  }),
  LOG_LEVEL: define({
    default: 'info',
    meaning: 'fatal, error, warn, info, debug, trace or silent',
    read: readOneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  }),
} as const

/** The megabytes that count where nothing limits the memory: the index of 100,000 occupations needs a third. */
const UNLIMITED_MB = 1200

type SettingName = keyof typeof SETTINGS
/** The settings that have a default. */
type Defaulted = {
  [Name in SettingName]: (typeof SETTINGS)[Name]['default'] extends string ? Name : never
}[SettingName]
type Value<Name extends SettingName> = ReturnType<(typeof SETTINGS)[Name]['read']>
export type Settings = { readonly [Name in Defaulted]: Value<Name> } & {
  readonly [Name in Exclude<SettingName, Defaulted>]?: Value<Name>
}

/** Settings that only work together. PUBLIC_URL is also of use alone. */
const TOGETHER = [
  ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'PUBLIC_URL'],
] as const

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Replaces `DATABASE_URL_FILE` and the like by the secrets in those files: containers mount secrets as files, and
 * many tools show the environment.
 */
function readSecretFiles(environment: Environment, faults: string[]): Environment {
  const read: Record<string, string> = {}
  for (const [name, { secret }] of Object.entries<Definition<unknown>>(SETTINGS)) {
    const file = secret ? environment[`${name}_FILE`]?.trim() : undefined
    if (!file) continue
    if (environment[name]?.trim()) {
      faults.push(`${name} and ${name}_FILE are both set. Set one of them.`)
      continue
    }
    try {
      read[name] = readFileSync(file, 'utf8').trim()
      if (read[name] === '') faults.push(`${name}_FILE names ${JSON.stringify(file)}, which is empty.`)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      faults.push(`${name}_FILE names ${JSON.stringify(file)}, which cannot be read (${code}).`)
    }
  }
  return { ...environment, ...read }
}

/**
 * Reads the settings from an environment; an empty value counts as absent. The setting NAME_FILE names a file with
 * the value of a secret.
 *
 * @throws {SettingsRefused} with all faults
 */
export function readSettings(given: Environment): Settings {
  const faults: string[] = []
  const environment = readSecretFiles(given, faults)
  const nameOf = (name: string) => (environment[name] === given[name] ? name : `The file of ${name}_FILE`)
  const values: Record<string, unknown> = {}
  for (const [name, { default: fallback, read, secret }] of Object.entries<Definition<unknown>>(SETTINGS)) {
    const text = environment[name]?.trim() || fallback
    if (text === undefined) continue
    try {
      values[name] = read(text)
    } catch (error) {
      const { message } = error as Error
      faults.push(
        `${nameOf(name)} ${message}${secret || !message.startsWith('must') ? '' : `, not ${JSON.stringify(text)}`}`,
      )
    }
  }
  faults.push(...findMisspelt(environment))
  const settings = values as Settings
  if (settings.PORT > 0 && settings.METRICS_PORT?.port === settings.PORT)
    faults.push(`METRICS_PORT and PORT must be different, not both ${settings.PORT}`)
  for (const names of TOGETHER) {
    const missing = names.filter((name) => !environment[name]?.trim())
    const isUsed = names.some((name) => name !== 'PUBLIC_URL' && !missing.includes(name))
    if (missing.length > 0 && isUsed)
      faults.push(`${missing.join(' and ')} must also be set: ${names.join(', ')} only work together`)
  }
  if (settings.OIDC_ISSUER !== undefined && settings.CONSOLE !== 'on')
    faults.push('CONSOLE must be on: OIDC_ISSUER names the identity provider for signing in to it')
  if (settings.OIDC_CLIENT_SECRET !== undefined && !environment.OIDC_ISSUER?.trim())
    faults.push('OIDC_ISSUER must also be set: OIDC_CLIENT_SECRET is of no use without it')
  if (faults.length > 0) throw new SettingsRefused(faults)
  return settings
}

/** Shorter names, such as HOST, are near to too many others. */
const LEAST_NAME = 8
/** Letters by which a misspelt name differs, at most. */
const MOST_WRONG = 2

/**
 * Names that are probably meant as a setting that is not set: without a word, ENCRYPTION_KEY instead of ENCRYPTION_KEYS
 * would store plain text.
 */
function findMisspelt(environment: Environment): string[] {
  const isSet = (name: string) => isSetting(name) && environment[name]?.trim()
  const unset = Object.keys(SETTINGS).filter(
    (name) => name.length >= LEAST_NAME && !isSet(name) && !isSet(`${name}_FILE`),
  )
  return Object.keys(environment)
    .filter((name) => !isSetting(name) && environment[name]?.trim())
    .flatMap((name) => {
      const given = name.toUpperCase()
      const meant = unset.find((each) =>
        [each, `${each}_FILE`].some((known) => distance(given, known) <= MOST_WRONG),
      )
      return meant === undefined ? [] : [`${name} is not a setting. Write ${meant}, or remove it`]
    })
}

/** Whether a name is that of a setting, or of the file with a secret. */
export function isSetting(name: string): boolean {
  const settings: Readonly<Record<string, Definition<unknown>>> = SETTINGS
  if (Object.hasOwn(settings, name)) return true
  const secret = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : ''
  return Object.hasOwn(settings, secret) && settings[secret]?.secret !== undefined
}

/** The memory in which the search index is built, in bytes. */
export function indexMemoryOf({
  MEMORY_MB: all = readContainerLimit() ?? UNLIMITED_MB,
}: Pick<Settings, 'MEMORY_MB'>): number {
  // Beside it, the container may hold a server and a worker.
  return Math.floor(all / 3) * 2 ** 20
}

/**
 * The settings from the environment for display, with redacted secrets.
 *
 * @param installed the settings in the file of the installation
 */
export function listSettings(
  given: Environment,
  installed: Environment = {},
): {
  name: string
  value: string
  source: 'environment' | 'settings file' | 'file' | 'default'
  meaning: string
}[] {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value?.trim()))
  const environment = readSecretFiles({ ...installed, ...set }, [])
  return Object.entries<Definition<unknown>>(SETTINGS).map(
    ([name, { default: fallback, meaning, secret }]) => {
      const text = environment[name]?.trim()
      const value = text || fallback || ''
      return {
        name,
        value: secret === 'whole' && value !== '' ? '***' : secret ? hidePassword(value) : value,
        source: given[name]?.trim()
          ? 'environment'
          : installed[name]?.trim()
            ? 'settings file'
            : text
              ? 'file'
              : 'default',
        meaning,
      }
    },
  )
}

/** Returns a URL without its password. */
export function hidePassword(address: string): string {
  return address
    .replace(/^([a-z]+:\/\/[^:/?#]*):.*@/i, '$1:***@')
    .replace(/([?&][a-z]*password=)[^&]*/gi, '$1***')
}

function readTimeZone(text: string): string {
  if (isTimeZone(text)) return text
  throw new Error('must be a time zone such as Pacific/Auckland or UTC')
}

function readText(text: string): string {
  return text
}

function readList(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

function readDaysOrOff(text: string): number | 'off' {
  if (text === 'off') return 'off'
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (days >= 1) return days
  throw new Error('must be a whole number of days from 1 to 99999, or off')
}

function readWhole(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new Error(`must be a whole number from ${least} to ${most}`)
  }
}

/** The port of the metrics and its address: an IPv6 address in brackets, as in a URL. */
function readMetricsPort(text: string): { host: string; port: number } {
  const [, host, digits] = /^(?:\[?([\w.:-]+?)\]?:)?(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits ?? 'none')
  if (port >= 0 && port <= 65_535) return { host: host ?? '127.0.0.1', port }
  throw new Error('must be a whole number from 0 to 65535, or an address and a port such as 0.0.0.0:9464')
}

function readOneOf<const Name extends string>(allowed: readonly Name[]): (text: string) => Name {
  return (text) => {
    const name = allowed.find((each) => each === text)
    if (name === undefined) throw new Error(`must be ${joinOr(allowed)}`)
    return name
  }
}

function readLimit(text: string): RateLimit | 'off' {
  if (text === 'off') return 'off'
  const [, requests, seconds] = /^(\d{1,9})\/(\d{1,6})$/.exec(text) ?? []
  if (requests === undefined || Number(requests) < 1 || Number(seconds) < 1) {
    throw new Error('must be requests/seconds such as 600/60, or off')
  }
  return { requests: Number(requests), seconds: Number(seconds) }
}

function readDatabaseUrl(text: string): string {
  if (/^sqlite:(?!:memory:).+/.test(text)) return text
  if (isPostgresUrl(text)) return text
  throw new Error('must be a URL such as sqlite:var/mahi.db or postgres://user@host/database')
}

const SEVERAL_HOSTS = /^postgres(?:ql)?:\/\/[^/?#]*,|[?&]host=[^?&]*(?:,|%2c)|[?&]target_session_attrs=/i

/** @throws {Error} for lists of hosts, which the driver would treat as one host name and fail with ENOTFOUND */
function isPostgresUrl(text: string): boolean {
  if (SEVERAL_HOSTS.test(text)) {
    throw new Error(
      'names several hosts or target_session_attrs, which is not supported. Use one URL that leads to the right server, such as a virtual IP, a DNS name or a proxy ("Failover" in docs/operations.md)',
    )
  }
  return /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text)
}

function readRedisUrl(text: string): string {
  const address = /^rediss?:\/\//.test(text) ? URL.parse(text) : null
  // Any other part of the URL would set an option of the Redis client, and some of those are unsafe.
  if (address?.hostname && /^(?:\/\d{0,3})?$/.test(address.pathname) && !address.search && !address.hash) {
    return text
  }
  throw new Error('must be a URL such as redis://host:6379 or rediss://user:password@host:6379/0')
}

/** @param example what the error shows */
function readWebAddress(example: string): (text: string) => string {
  return (text) => {
    const address = /^https?:\/\//.test(text) ? URL.parse(text) : null
    if (address !== null && !address.username && !address.password) return text
    throw new Error(`must be a URL such as ${example}`)
  }
}

/**
 * Over plain HTTP, anyone on the network could change what the identity provider sends, and so be any user.
 *
 * @param example what the error shows
 */
function readSecureAddress(example: string): (text: string) => string {
  const readAddress = readWebAddress(example)
  return (text) => {
    const { protocol, hostname } = new URL(readAddress(text))
    if (protocol === 'https:' || isLoopbackHost(hostname)) return text
    throw new Error('must begin with https:// unless it is on this machine')
  }
}

function readOrigins(text: string): '*' | readonly string[] {
  if (text === '*') return '*'
  const origins = text.split(',').map((each) => each.trim())
  if (origins.every((each) => /^https?:\/\/[^/\s]+$/.test(each))) return origins
  throw new Error('must be * or comma-separated origins such as https://careers.example')
}

function readProxies(text: string): false | readonly string[] {
  if (text === 'false') return false
  const addresses = text.split(',').map((each) => each.trim())
  if (addresses.every(isNetwork)) return addresses
  throw new Error('must be false or comma-separated IP addresses such as 10.0.0.0/8')
}

/** An IP address, or a range of them such as 10.0.0.0/8. */
function isNetwork(text: string): boolean {
  const [, address = '', bits = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  return Number(bits) <= ({ 4: 32, 6: 128 }[isIP(address)] ?? -1)
}
