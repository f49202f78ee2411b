import { lookUp } from '../foundation/look-up.ts'
import { ApiProblem, type ProblemShown } from './api.ts'

/** What is wrong with a form, in its own words. */
export interface Fault {
  readonly status: number
  readonly message: string
  /** The field that it is about, if it is about one. */
  readonly field?: string | undefined
}

/** A form that cannot be accepted: its page is shown again with what was typed. */
export class FormFault extends Error implements Fault {
  readonly status: number
  readonly field: string | undefined

  constructor(message: string, { field, status = 400 }: Partial<Omit<Fault, 'message'>> = {}) {
    super(message)
    this.field = field
    this.status = status
  }
}

/** The names of the API, with those of the fields of forms and filters and of what they are called on a page. */
const NAMES = lookUp<readonly [field: string, label: string]>({
  'Filter.StudentId': ['student', 'Learner'],
  'Filter.CourseCode': ['course', 'Course'],
  'Filter.ErrorCode': ['code', 'Code'],
  'Filter.ErrorType': ['type', 'Severity'],
  'Filter.FileType': ['file', 'File'],
  'Filter.Cause': ['cause', 'The cause'],
  'Filter.State': ['state', 'State'],
  onlyNew: ['new', 'Only new'],
  q: ['q', 'The search'],
  Page: ['page', 'The page number'],
  page: ['page', 'The page number'],
  number: ['number', 'The number of the receipt'],
  status: ['status', 'State'],
  returnId: ['returnId', 'Return'],
  reason: ['reason', 'Reason'],
  until: ['until', 'Until'],
  text: ['text', 'In words'],
})

/** A sentence of the API, which begins with the name of a value, with what a page calls the value instead. */
export const renameValue = (sentence: string, name: string, words: string): string =>
  words + sentence.slice(name.length)

/** What is wrong with values. */
function nameValues(errors: NonNullable<ProblemShown['errors']>): Omit<Fault, 'status'> {
  const faults = Object.entries(errors).flatMap(([name, sentences]) => {
    const [field, label = 'A value'] = NAMES[name] ?? []
    return sentences.map((sentence) => ({ field, message: renameValue(sentence, name, label) }))
  })
  return { message: faults.map(({ message }) => message).join(' '), field: faults[0]?.field }
}

/** The problem of a parameter whose name the API does not give: that of its specified list of occupations. */
const INVALID = '/problems/invalid-parameters'
const UNNAMED = 'The address of this page has a value that cannot be used.'

const DELETED = 'This submission was deleted, with its files, findings and receipts.'

const TITLES: Readonly<Record<number, string>> = {
  400: 'This cannot be used',
  401: 'This is not allowed',
  409: 'This is not possible now',
  410: 'This was deleted',
  413: 'This is too large',
  414: 'This address is too long',
  415: 'This file cannot be read',
  422: 'This cannot be used',
}

/** A problem of the API for people. */
export function explainProblem(problem: ProblemShown): ProblemShown & Fault {
  const { status, title, type, detail, errors } = problem
  const unnamed = status === 410 ? DELETED : type === INVALID ? UNNAMED : detail
  const { message, field } = errors === undefined ? { message: unnamed } : nameValues(errors)
  return { ...problem, title: TITLES[status] ?? title, detail: message, message, field }
}

/**
 * What a form did wrong, or came too late for; `undefined` for any other error.
 *
 * @param isForm whether it has fields only, and no files
 */
export function findFault(error: unknown, isForm: boolean): Fault | undefined {
  if (error instanceof FormFault) return error
  if (!(error instanceof ApiProblem)) return undefined
  const { status } = error.problem
  if (![400, 409, 412, 413, 415, 422].includes(status)) return undefined
  // Of a file, the sentence is about the file; a form is smaller than what is sent for it.
  if (isForm && status === 413) return { status, message: 'What was entered is too long.' }
  return explainProblem(error.problem)
}
