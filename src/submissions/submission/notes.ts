import type { Sealer } from '../../foundation/database/seal.ts'
import type { FileState } from './submission.ts'

/** The notes of a file contain names in an archive. */
export function sealNotes(sealer: Sealer, version: string, notes: readonly string[]): string {
  return sealer.sealJson(notes, contextOf(version))
}

export function openNotes(
  sealer: Sealer,
  { version, notes }: Pick<FileState, 'version' | 'notes'>,
): string[] | undefined {
  return notes === null ? undefined : sealer.openJson<string[]>(notes, contextOf(version))
}

function contextOf(version: string): string {
  return `notes/${version}`
}
