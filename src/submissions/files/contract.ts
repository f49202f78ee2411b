import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import type { Definitions } from '../rules/definitions.ts'
import { asOwner, TOKEN_PATH } from '../submission/contract.ts'
import { findOwn, type SubmissionRow } from '../submission/submission.ts'

export const CSV = 'text/csv'

export const NDJSON = 'application/x-ndjson'

export const ZIP = 'application/zip'

export const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** Archives and workbooks, by all names that browsers give them. */
export const CONTAINERS = [
  ZIP,
  'application/x-zip-compressed',
  XLSX,
  'application/vnd.ms-excel.sheet.macroenabled.12',
  'application/octet-stream',
] as const

export function isContainerType(type: string): boolean {
  return CONTAINERS.some((each) => each === type)
}

export const FILE_PATH = Type.Object({
  ...TOKEN_PATH.properties,
  fileType: Type.String({
    description:
      'The file, such as `learners` or `course-completions`; the extension `.csv`, `.ndjson`, `.zip` or `.xlsx` is optional.',
  }),
})

/** A submission that the caller may see, and the name of a file. */
export interface OwnFile {
  readonly submission: SubmissionRow
  readonly resource: string
}

/** Declares operations on the file in the path. */
export function ofFile(reader: Reader) {
  return asOwner<OwnFile>(async (eid, { submissionToken = '', fileType = '' }) => {
    const submission = await findOwn(reader, eid, submissionToken)
    // The extension allows `curl -T learners.csv`.
    return submission && { submission, resource: fileType.replace(/\.(?:csv|ndjson|zip|xlsx)$/, '') }
  })
}

/** @throws {Problem} `no-such-file` if the definition of the submission has no such file */
export function assertKnown(definitions: Definitions, { submission, resource }: OwnFile): void {
  if (submission.created === null) return
  const definition = definitions.find(submission.definition ?? '')
  if (definition?.resources.some(({ name }) => name === resource)) return
  const known = definition?.resources.map(({ name }) => `…/files/${name}`).join(', ')
  throw new Problem('no-such-file', `The definition has no such file. Its files are ${known}.`)
}
