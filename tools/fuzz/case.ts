import type { Answer } from './wire.ts'

/** Something that is sent, and how. */
export type Step =
  | { readonly send: string }
  | { readonly pause: number }
  /** `half` closes this side and still reads; `reset` cuts the connection off. */
  | { readonly close: 'half' | 'reset' }

/** One answer that has to come. */
export interface Expected {
  /** The method of the request: HEAD has no body in its answer. */
  readonly method: string
  readonly statuses: readonly number[]
  /** The address that openapi.json describes the answer of. */
  readonly path?: string
  /** The method under which it is described; without it that of a reading request. */
  readonly described?: 'PUT' | 'POST' | 'DELETE'
  /** Whether 100 may come first. */
  readonly continues?: boolean
  /** Throws if the body is not what was asked for. */
  readonly check?: (answer: Answer, body: string) => void
}

export interface Case {
  readonly kind: string
  /** What is hostile about it, for people. */
  readonly what: string
  readonly steps: readonly Step[]
  /** In their order. `undefined`: as many as come, each any that there is for broken requests. */
  readonly expected: readonly Expected[] | undefined
  /** Whether the service then closes the connection; `undefined`: as its last answer says. */
  readonly ends: boolean | undefined
  /** Whether it needs a connection of its own. */
  readonly alone: boolean
}

/** How the service under test is set up. */
export interface Mode {
  readonly name: 'open' | 'limited'
  /** Whether the catalogue needs no credential. */
  readonly public: boolean
  readonly limited: boolean
}

export const MODES: Readonly<Record<Mode['name'], Mode>> = {
  open: { name: 'open', public: false, limited: false },
  limited: { name: 'limited', public: true, limited: true },
}
