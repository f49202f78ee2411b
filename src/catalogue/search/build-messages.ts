/** The message to the process that builds an index; a URL may contain a password, so it is no parameter. */
export interface BuildOrder {
  readonly databaseUrl: string
  readonly memoryBytes: number
}

/** The message from it. Without one, it has ended unexpectedly. */
export type BuildResult =
  | { readonly kind: 'built' }
  /** Another attempt would end in the same way. */
  | { readonly kind: 'refused'; readonly reason: string }
