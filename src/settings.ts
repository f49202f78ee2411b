import type { RateLimit } from './access/rate-limit.ts'

/** A setting that makes no sense, or several: every fault at once. */
export class SettingsRefused extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'SettingsRefused'
    this.faults = faults
  }
}

interface Definition<T> {
  /** As it would be written in the environment; absent where the setting has no value unless it is given. */
  readonly default: string | undefined
  readonly meaning: string
  /** @throws {Error} whose message says what would be right */
  readonly read: (text: string) => T
  /** Whether its value can hold a secret. */
  readonly secret?: boolean
}

const define = <T>(definition: Definition<T>) => definition

/** Every setting, by its name in the environment. */
export const SETTINGS = {
  HOST: define({ default: '127.0.0.1', meaning: 'address to listen on', read: readText }),
  PORT: define({
    default: '8080',
    meaning: 'port to listen on; 0 takes any that is free',
    read: readWhole(0, 65535),
  }),
  DATABASE_URL: define({
    default: 'sqlite:var/mahi.db',
    meaning: 'sqlite:FILE',
    read: readDatabaseUrl,
    secret: true,
  }),
  OCCUPATIONS_ACCESS: define({
    default: 'key',
    meaning: 'key: every caller needs one; public: the catalogue is open',
    read: readOneOf(['key', 'public']),
  }),
  OCCUPATIONS_LIMIT_DEFAULT: define({ default: '20', meaning: 'records a page', read: readWhole(1, 1000) }),
  OCCUPATIONS_LIMIT_MAX: define({ default: '100', meaning: 'most records a page', read: readWhole(1, 1000) }),
  RESULTS_PAGE_SIZE_DEFAULT: define({
    default: '100',
    meaning: 'entries a page',
    read: readWhole(1, 10_000),
  }),
  RESULTS_PAGE_SIZE_MAX: define({
    default: '1000',
    meaning: 'most entries a page',
    read: readWhole(1, 10_000),
  }),
  RATE_LIMIT_OCCUPATIONS: define({
    default: '600/60',
    meaning: 'requests/seconds of each credential for the catalogue, or off',
    read: readLimit,
  }),
  RATE_LIMIT_RESULTS: define({
    default: '120/60',
    meaning: 'requests/seconds of each credential for validation results, or off',
    read: readLimit,
  }),
  RATE_LIMIT_FAILED_CREDENTIALS: define({
    default: '30/60',
    meaning: 'requests/seconds without a valid credential from each address, or off',
    read: readLimit,
  }),
  CORS_ORIGINS: define({
    default: '*',
    meaning: 'origins of web pages that may call, by commas, or *',
    read: readOrigins,
  }),
  TRUST_PROXY: define({
    default: 'false',
    meaning: 'addresses of proxies whose X-Forwarded-For counts, by commas, or false',
    read: readProxies,
  }),
  PAGE_CACHE_MB: define({
    default: '64',
    meaning: 'megabytes of finished pages kept in memory; 0 keeps none and compresses none',
    read: readWhole(0, 65536),
  }),
  METRICS_PORT: define({
    default: '9464',
    meaning: 'port of the Prometheus metrics, on loopback; 0 for none',
    read: readWhole(0, 65535),
  }),
  LOG_LEVEL: define({
    default: 'info',
    meaning: 'fatal, error, warn, info, debug, trace or silent',
    read: readOneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  }),
} as const

export type SettingName = keyof typeof SETTINGS
export type Settings = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['read']> }

/**
 * Reads the settings from an environment; an empty value counts as not given.
 *
 * @throws {SettingsRefused} with every fault
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const faults: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, { default: fallback, read, secret }] of Object.entries<Definition<unknown>>(SETTINGS)) {
    const text = environment[name]?.trim() || fallback
    if (text === undefined) continue
    try {
      values[name] = read(text)
    } catch (error) {
      faults.push(`${name} ${secret ? '' : `is ${JSON.stringify(text)}, and `}${(error as Error).message}`)
    }
  }
  const settings = values as Settings
  for (const [name, most] of [
    ['OCCUPATIONS_LIMIT_DEFAULT', 'OCCUPATIONS_LIMIT_MAX'],
    ['RESULTS_PAGE_SIZE_DEFAULT', 'RESULTS_PAGE_SIZE_MAX'],
  ] as const) {
    if (settings[name] > settings[most])
      faults.push(`${name} is ${settings[name]}, above ${most} (${settings[most]})`)
  }
  if (settings.METRICS_PORT !== 0 && settings.METRICS_PORT === settings.PORT) {
    faults.push(`METRICS_PORT and PORT are both ${settings.PORT}: each needs a port of its own`)
  }
  if (faults.length > 0) throw new SettingsRefused(faults)
  return settings
}

/** The settings as the environment gives them, for people: secrets are blotted out. */
export function listSettings(
  environment: Readonly<Record<string, string | undefined>>,
): { name: string; value: string; source: 'environment' | 'default'; meaning: string }[] {
  return Object.entries<Definition<unknown>>(SETTINGS).map(
    ([name, { default: fallback, meaning, secret }]) => {
      const given = environment[name]?.trim()
      const value = given || fallback || ''
      return {
        name,
        value: secret ? hidePassword(value) : value,
        source: given ? 'environment' : 'default',
        meaning,
      }
    },
  )
}

/** An address without its password. */
export function hidePassword(address: string): string {
  return address.replace(/^([a-z]+:\/\/[^:/?#]*):[^@]*@/i, '$1:***@')
}

function readText(text: string): string {
  return text
}

function readWhole(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new Error(`should be a whole number from ${least} to ${most}`)
  }
}

function readOneOf<const Name extends string>(allowed: readonly Name[]): (text: string) => Name {
  return (text) => {
    const name = allowed.find((each) => each === text)
    if (name === undefined) throw new Error(`should be one of ${allowed.join(', ')}`)
    return name
  }
}

function readLimit(text: string): RateLimit | 'off' {
  if (text === 'off') return 'off'
  const [, requests, seconds] = /^(\d{1,9})\/(\d{1,6})$/.exec(text) ?? []
  if (requests === undefined || Number(requests) < 1 || Number(seconds) < 1) {
    throw new Error('should be requests/seconds such as 600/60, or off')
  }
  return { requests: Number(requests), seconds: Number(seconds) }
}

function readDatabaseUrl(text: string): string {
  if (/^sqlite:(?!:memory:).+/.test(text)) return text
  throw new Error('should be the address of a file, such as sqlite:var/mahi.db')
}

function readOrigins(text: string): '*' | readonly string[] {
  if (text === '*') return '*'
  const origins = text.split(',').map((each) => each.trim())
  if (origins.every((each) => /^https?:\/\/[^/\s]+$/.test(each))) return origins
  throw new Error('should be * or origins such as https://careers.example, by commas')
}

function readProxies(text: string): false | readonly string[] {
  if (text === 'false') return false
  const addresses = text.split(',').map((each) => each.trim())
  if (addresses.every((each) => /^[\da-f.:]+(?:\/\d{1,3})?$/i.test(each))) return addresses
  throw new Error('should be false or addresses such as 10.0.0.0/8, by commas')
}
