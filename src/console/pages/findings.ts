import type { Context } from '../context.ts'
import { link, type Query, submissionLink } from '../links.ts'
import { pathOf, type Run, tokenOf } from './workbench.ts'

/** The filters of records and of their export in the URL, with the parameters of the API. */
export const FILTERS = {
  type: 'Filter.ErrorType',
  file: 'Filter.FileType',
  code: 'Filter.ErrorCode',
  student: 'Filter.StudentId',
  course: 'Filter.CourseCode',
} as const

/** The path of the findings in the API. */
export const findingsOf = (context: Context, rest = ''): string =>
  pathOf(context, `/validation-results${rest}`)

/** The URL of the records with findings. */
export const recordsLink = (context: Context, query: Query): string =>
  link(submissionLink(tokenOf(context), '/findings/records'), { eid: context.eid, ...query })

/** The stored runs, newest first. */
export async function readRuns(context: Context): Promise<readonly Run[]> {
  const { results } = await context.api.call<{ results: readonly Run[] }>(pathOf(context, '/validation-runs'))
  return results
}
