const MB = 2 ** 20

/** What others may notice of an attack at most. A broken limit is a fault of the attack. */
export interface Limits {
  /** Milliseconds of any response of `/livez` and `/readyz`. */
  readonly health: number
  /** Milliseconds of any response to another caller. */
  readonly response: number
  /** Milliseconds until another organisation has uploaded a file. */
  readonly upload: number
  /** Responses with 503 to another caller. */
  readonly unavailable: number
  /** Bytes that the kernel holds for the connections of `mahi serve`. */
  readonly sockets: number
  /** Bytes that the database grows. */
  readonly growth: number
}

/** What others have noticed; `undefined` where it cannot be measured. */
export type Noticed = { readonly [Name in keyof Limits]: number | undefined }

/** The limits of an attack that states none of its own. */
export const USUAL: Limits = {
  health: 1_000,
  response: 5_000,
  upload: 15_000,
  unavailable: Number.POSITIVE_INFINITY,
  sockets: Number.POSITIVE_INFINITY,
  growth: Number.POSITIVE_INFINITY,
}

const ms = (value: number) => `${Math.round(value)} ms`
const mib = (value: number) => `${Math.round(value / MB)} MiB`

const WORDS: Readonly<Record<keyof Limits, (value: string) => string>> = {
  health: (value) => `/livez or /readyz took ${value}`,
  response: (value) => `another caller waited ${value} for a response`,
  upload: (value) => `another organisation's upload took ${value}`,
  unavailable: (value) => `another caller got 503 ${value} times`,
  sockets: (value) => `the kernel held ${value} for connections`,
  growth: (value) => `the database grew by ${value}`,
}

const UNITS: Readonly<Record<keyof Limits, (value: number) => string>> = {
  health: ms,
  response: ms,
  upload: ms,
  unavailable: String,
  sockets: mib,
  growth: mib,
}

const NAMES = Object.keys(WORDS) as (keyof Limits)[]

/**
 * Says which limits were exceeded.
 *
 * @param slack how many times as long something may take on a machine that is busy with other work
 */
export function judge(promise: string, limits: Limits, noticed: Noticed, slack = 1): string[] {
  return NAMES.flatMap((name) => {
    const most = UNITS[name] === ms ? limits[name] * slack : limits[name]
    const value = noticed[name]
    if (value === undefined || value <= most) return []
    return [`promised: ${promise}; ${WORDS[name](UNITS[name](value))}, at most ${UNITS[name](most)} allowed`]
  })
}
