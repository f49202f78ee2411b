import type { Context } from '../context.ts'
import { pathOf, type Run } from './workbench.ts'

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

/** The finished check before the newest one, of runs from the newest on. */
export const findEarlier = (runs: readonly Run[]): Run | undefined =>
  runs.filter(({ status }) => status === 'Processed')[1]

/** The stored runs, newest first. */
export async function readRuns(context: Context): Promise<readonly Run[]> {
  const { results } = await context.api.call<{ results: readonly Run[] }>(pathOf(context, '/validation-runs'))
  return results
}
