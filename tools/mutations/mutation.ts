/** A small fault in a rule, and a test that notices it. */
export interface Mutation {
  /** The fault in words, such as `the last day of a code is not permitted`. */
  readonly fault: string
  /** A file of the sources, from the root of the repository. */
  readonly file: string
  /** A text that occurs once in the file. */
  readonly text: string
  readonly replacement: string
  /** The file of tests of which at least one must fail, such as `test/checks.codes.test.ts`. */
  readonly test: string
}
