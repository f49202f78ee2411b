import type { Limits } from './promises.ts'

/** What an attacker knows of the service. */
export interface Target {
  readonly port: number
  /** A key with every scope of a caller; empty for an attacker without one. */
  readonly key: string
  readonly eid: string
  /** All organisations of the key. */
  readonly eids: readonly string[]
  /** A submission with many findings. */
  readonly token: string
}

/** A request, or bytes as they are sent. */
export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** The length that a request states, if it never sends all of its body. */
  readonly length?: number
  readonly raw?: string
  /** The organisation in whose name it is sent, by its place in `eids`. */
  readonly eid?: number
}

export interface Answer {
  readonly status: number
  readonly body: string
}

/** What an attack sends next: the line is one of those that attack at once, the round is counted for each. */
export interface Turn {
  readonly target: Target
  /** Tokens of submissions that belong to the attacker. */
  readonly tokens: readonly string[]
  readonly line: number
  readonly round: number
}

/** One way to use more of the service than is fair. */
export interface Attack {
  readonly name: string
  readonly caller: 'anonymous' | 'key'
  /** What holds during it, besides what holds during every attack. */
  readonly promise: string
  /**
   * `exchange` waits for each response and then asks again; `hold` sends once on each connection, reads nothing and keeps
   * it open; `drip` holds and sends one byte more twice a second.
   */
  readonly how: 'exchange' | 'hold' | 'drip'
  /** Connections, or lines, at once. */
  readonly count: number
  /** Submissions that are made first. */
  readonly submissions?: number
  send(turn: Turn): readonly Ask[]
  /** What is wrong with the responses to one turn; no response of any attack may be a 500 or show the key. */
  wrong?(answers: readonly Answer[]): string | undefined
  readonly limits?: Partial<Limits>
  /** Whether a small run has it. */
  readonly small?: true
}
