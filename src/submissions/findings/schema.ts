import { int32Count, listOf, oneOf, upTo, withDefault } from '../../api/contract/fields.ts'
import { FILE_TYPES, SEVERITIES } from '../../engines/checking/index.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { filledText, ValidationEntry } from '../submission/validation-entry.ts'

/**
 * The input of a publish: an entry with the details that `mahi check` adds, which the specified operation never
 * returns.
 */
export const PublishedFinding = Type.Object(
  {
    ...ValidationEntry.properties,
    file: filledText('Name of the file that holds the record.'),
    line: Type.Optional(
      Type.Integer({
        description: 'Line on which the record starts, from 1.',
        minimum: 1,
        maximum: 2 ** 31 - 1,
      }),
    ),
    field: filledText('Field concerned.'),
    value: filledText('Its value.'),
    findingKey: filledText('Identifies the finding in other runs.'),
    cause: filledText('Key of the cause of the finding.'),
  },
  { title: 'Finding' },
)
export type PublishedFinding = Static<typeof PublishedFinding>

/** Section 2.8 of the interface. */
export const ValidationResultsPage = Type.Object(
  {
    page: int32Count('Page number of this page, from 1.'),
    pageSize: int32Count('Page size of this page.'),
    results: listOf(ValidationEntry, 'Validation entries, in the order they were published.'),
    totalCount: int32Count('Total number of entries of the submission.'),
  },
  {
    title: 'ValidationResultsPage',
    description: 'A page of the current validation results of a submission.',
  },
)

const filter = (description: string) => Type.Optional(Type.String({ description, maxLength: 200 }))

/** Section 4.2 of the interface: the query parameters, with the limits of this installation. */
export function resultsQuery(limits: { default: number; max: number }) {
  return Type.Object({
    page: withDefault(
      Type.Integer({
        description: 'Page number, from 1. A page past the last one is refused; page 1 always exists.',
        minimum: 1,
        format: 'int32',
      }),
      1,
    ),
    pageSize: upTo(
      limits.max,
      limits.default,
      `Entries per page, from 1 to ${limits.max}. A larger number is refused, never clamped.`,
    ),
    'Filter.ErrorType': oneOf(SEVERITIES, 'Only entries of this type.'),
    'Filter.FileType': oneOf(FILE_TYPES, 'Only entries of this file.'),
    'Filter.ErrorCode': filter('Only entries with this code.'),
    'Filter.StudentId': filter('Only entries about this student.'),
    'Filter.CourseCode': filter('Only entries about this course.'),
  })
}
