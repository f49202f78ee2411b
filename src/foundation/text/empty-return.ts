interface Counted {
  readonly records?: number
}

/** What the submission of files without records means: such a return is valid, but rarely meant. */
export const EMPTY_RETURN =
  'None of the files has a record: the return is empty. Submitting it replaces any earlier submission of the return.'

/** Whether files are a return without records. */
export function isEmptyReturn(files: readonly Counted[]): boolean {
  return files.length > 0 && files.every(({ records }) => records === 0)
}
