const MB = 2 ** 20
const inMs = (value: number) => `${Math.round(value)} ms`
const inMiB = (value: number) => `${Math.round(value / MB)} MiB`

/** What others may notice of an attack: the limit of one that states none of its own, its unit, and a fault in words. */
const NOTICED = {
  /** The slowest response of `/livez` and `/readyz`. */
  health: [1_000, inMs, '/livez or /readyz took'],
  response: [5_000, inMs, 'the slowest response to another caller took'],
  /** Until another organisation has uploaded a file. */
  upload: [15_000, inMs, "another organisation's upload took"],
  /** Bytes that the kernel holds for the connections of `mahi serve`. */
  sockets: [Number.POSITIVE_INFINITY, inMiB, 'the connections, in the kernel, took'],
  /** Bytes that the database grows. */
  growth: [Number.POSITIVE_INFINITY, inMiB, 'the growth of the database took'],
} as const

export type Limits = Record<keyof typeof NOTICED, number>

/** Says which limits were exceeded; what cannot be measured is `undefined`. */
export function judge(
  { promise, limits = {} }: { readonly promise: string; readonly limits?: Partial<Limits> },
  noticed: Readonly<Record<keyof Limits, number | undefined>>,
): string[] {
  return Object.entries(NOTICED).flatMap(([name, [usual, unit, what]]) => {
    const most = limits[name as keyof Limits] ?? usual
    const value = noticed[name as keyof Limits]
    if (value === undefined || value <= most) return []
    return [`promised: ${promise}; ${what} ${unit(value)}, at most ${unit(most)} allowed`]
  })
}
