import { MahiError } from './errors.ts'
import type { CallOptions, Path, SendChange, SendRequest, StreamRequest } from './request.ts'
import type {
  ActivityPage,
  BatchResult,
  Caller,
  Explanation,
  ExplanationList,
  FileWork,
  FindingsPage,
  LearnersPage,
  Organisation,
  OrganisationPage,
  Overview,
  Receipt,
  ResultsCauses,
  ResultsChanges,
  ResultsSummary,
  Return,
  ReturnCauses,
  ReturnOverview,
  ReturnPage,
  RuleCatalogue,
  RuleOfDefinition,
  Submission,
  SubmissionFile,
  SubmissionFiles,
  SubmissionPage,
  SubmittedSubmission,
  ValidationRun,
  ValidationRunPage,
} from './types.ts'

/** What to create a submission for. */
export interface NewSubmission {
  /** The return, such as `202512`. */
  returnId: string
  /** The definition to check against; defaults to that of the service. */
  definition?: string | undefined
  /** Defaults to `Full`. */
  type?: 'Full' | 'Indicative' | undefined
}

/** Which findings to list. */
export interface FindingsQuery {
  page?: number | undefined
  pageSize?: number | undefined
  'Filter.ErrorType'?: 'Error' | 'Warning' | undefined
  'Filter.FileType'?: string | undefined
  'Filter.ErrorCode'?: string | undefined
  'Filter.StudentId'?: string | undefined
  'Filter.CourseCode'?: string | undefined
  /** The key of a cause. */
  'Filter.Cause'?: string | undefined
  /** The `runId` of an earlier run: only findings that it did not have. */
  newSince?: number | undefined
}

/** The content of a file. A stream can be sent once: such an upload is not tried again after a failure. */
export type FileContent = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>

/** How to upload a file. */
export interface PutFileOptions extends CallOptions {
  /** The format of the content; defaults to `csv`. */
  format?: 'csv' | 'ndjson' | undefined
  /** Whether the content is gzipped. */
  gzip?: boolean | undefined
  /** SHA-256 of the content as sent, in base64: the service refuses an upload that arrives differently. */
  sha256?: string | undefined
  /** The ETag of the file that is replaced; another one is left, and the call fails with status 412. */
  ifMatch?: string | undefined
}

/** A record of a batch: its `localId` and its fields. */
export interface SubmittedRecord {
  /** An identifier of the record, chosen by the caller. */
  localId: string
  /** Any field of the definition. */
  [field: string]: unknown
}

/** A record that is deleted. */
export interface Deletion {
  /** Identifier of the record. */
  localId: string
}

/** Which findings of a comparison to get. */
export interface ChangesBetweenRuns {
  /** The `runId` of the earlier run. */
  from: number
  /** The `runId` of the later run; defaults to the current one. */
  to?: number | undefined
  /** Only findings with this status. */
  status?: 'new' | 'fixed' | 'open' | undefined
  /** Page number, from 1. */
  page?: number | undefined
  /** Findings per page. */
  pageSize?: number | undefined
}

/** Why warnings are right. */
export interface NewExplanation {
  /** `Other` needs a text. */
  reason: 'Verified' | 'Agreed' | 'Later' | 'Other'
  /** The reason in words. */
  text?: string | undefined
}

/** Why a submission is opened again. */
export interface NewReopening {
  /** Shown to the organisation. */
  reason: string
  /** Until when it can be changed, as RFC 3339; defaults to seven days from now. */
  until?: string | undefined
}

/** A return to collect. Dates are local times of the service, such as `2026-01-31 17:00`, or have an offset. */
export interface NewReturn {
  /** Its name for people. */
  name: string
  /** The definition that it is checked against. */
  definition: string
  /** The version of the definition that the service must have. */
  version?: string | undefined
  /** Defaults to `Full`. */
  type?: 'Full' | 'Indicative' | undefined
  /** When it opens. */
  opens: string
  /** When it is due; defaults to when it closes. */
  due?: string | undefined
  /** When it closes. */
  closes: string
  /** The organisations that are expected to submit it; all by default. */
  organisations?: readonly string[] | undefined
  /** Notes for those who submit it. */
  notes?: string | undefined
}

/** How to wait for a run. */
export interface WaitOptions extends CallOptions {
  /** Called with each state of the run that is seen, about every two seconds. */
  onProgress?: ((run: ValidationRun) => void) | undefined
}

/** Submissions. Every function here rejects with a `MahiError`, or with the signal's reason. */
export interface Submissions {
  /** Creates a submission, or returns the organisation's open one for the same return. */
  create(submission: NewSubmission, options?: CallOptions): Promise<Submission & { submissionToken: string }>
  /** A page of the organisation's submissions, newest first. */
  list(query?: { page?: number; pageSize?: number }, options?: CallOptions): Promise<SubmissionPage>
  /** The state of a submission. */
  get(token: string, options?: CallOptions): Promise<Submission>
  /** Replaces a file, such as `learners`. */
  putFile(
    token: string,
    file: string,
    content: FileContent,
    options?: PutFileOptions,
  ): Promise<SubmissionFile>
  /**
   * Replaces files by those in a ZIP archive or by the sheets of a workbook (XLSX), which are recognised by their names.
   * If one is refused, none is replaced.
   */
  putFiles(
    token: string,
    container: FileContent,
    options?: CallOptions & Pick<PutFileOptions, 'sha256'>,
  ): Promise<SubmissionFiles>
  /** The current state of a file. */
  getFile(token: string, file: string, options?: CallOptions): Promise<ReadableStream<Uint8Array> | null>
  /**
   * The current files with their findings marked: a workbook (`xlsx`, the default), or CSV files in a ZIP archive. The
   * files are checked for it, so the response begins after the time of a check.
   */
  markedFiles(
    token: string,
    options?: CallOptions & { readonly format?: 'xlsx' | 'csv' },
  ): Promise<ReadableStream<Uint8Array> | null>
  /** Corrected copies of the current files in a ZIP archive, with a list of every change. */
  correctedFiles(token: string, options?: CallOptions): Promise<ReadableStream<Uint8Array> | null>
  /** The state of an upload that is read, or of copies that are made. The calls above wait for the end. */
  work(token: string, jobId: string, options?: CallOptions): Promise<FileWork>
  /** Adds records to a file, or replaces those with the same `localId`. */
  putRecords(
    token: string,
    file: string,
    records: readonly SubmittedRecord[],
    options?: CallOptions,
  ): Promise<BatchResult>
  /** Deletes records of a file. */
  deleteRecords(
    token: string,
    file: string,
    records: readonly Deletion[],
    options?: CallOptions,
  ): Promise<BatchResult>
  /** Requests a validation run, or returns the one in progress. */
  validate(token: string, options?: CallOptions): Promise<ValidationRun & { runId: number }>
  /** The runs that are kept, newest first. */
  runs(token: string, options?: CallOptions): Promise<ValidationRunPage>
  /** The state of a run. */
  run(token: string, runId: number, options?: CallOptions): Promise<ValidationRun>
  /** Waits until a run has ended, whatever its result; without limit unless `deadline` is given. */
  waitForRun(token: string, runId: number, options?: WaitOptions): Promise<ValidationRun>
  /** Cancels a run that is queued or in progress. */
  cancelRun(token: string, runId: number, options?: CallOptions): Promise<ValidationRun>
  /** What the current run found, by code. */
  summary(token: string, options?: CallOptions): Promise<ResultsSummary>
  /** What to fix, in order: each finding of the current run belongs to exactly one cause. */
  causes(token: string, options?: CallOptions): Promise<ResultsCauses>
  /** Findings with their places: file, line, field, value and cause. */
  findings(token: string, query?: FindingsQuery, options?: CallOptions): Promise<FindingsPage>
  /** The students with findings, those with most first. */
  learners(
    token: string,
    query?: { page?: number; pageSize?: number },
    options?: CallOptions,
  ): Promise<LearnersPage>
  /** How the findings of two runs differ. */
  changes(token: string, query: ChangesBetweenRuns, options?: CallOptions): Promise<ResultsChanges>
  /** Why warnings are right, and which warnings must still be explained. */
  explanations(token: string, options?: CallOptions): Promise<ExplanationList>
  /** Why the warnings with a code, or of a cause, are right. */
  explanation(token: string, target: string, options?: CallOptions): Promise<Explanation>
  /** Explains the warnings with a code, or of a cause. */
  explain(
    token: string,
    target: string,
    explanation: NewExplanation,
    options?: CallOptions,
  ): Promise<Explanation>
  /** Withdraws an explanation, and returns those that are left. */
  withdrawExplanation(token: string, target: string, options?: CallOptions): Promise<ExplanationList>
  /**
   * Submits a submission, whose current run must cover the current files and have found no errors, and returns it with
   * its receipt.
   */
  submit(token: string, options?: CallOptions): Promise<SubmittedSubmission>
  /** What was submitted, by whom and when. */
  receipt(token: string, query?: { number?: number }, options?: CallOptions): Promise<Receipt>
  /** Opens a submitted submission again, for the agency. */
  reopen(token: string, reopening: NewReopening, options?: CallOptions): Promise<Submission>
  /** Cancels a submission and deletes every record and finding of it. */
  delete(token: string, options?: CallOptions): Promise<Submission>
  /** Who did what with a submission, newest first. */
  activity(
    token: string,
    query?: { page?: number; pageSize?: number },
    options?: CallOptions,
  ): Promise<ActivityPage>
  /** The returns that the organisation is expected to submit, and how far it is with each; without `eid`, all returns, for an operator. */
  returns(
    query?: { page?: number; pageSize?: number; includeIndicative?: boolean },
    options?: CallOptions,
  ): Promise<ReturnPage>
  /** Adds a return, or replaces the one with this id, for the agency. */
  describeReturn(returnId: string, described: NewReturn, options?: CallOptions): Promise<Return>
  /** How far all organisations are with a return, for the agency. */
  returnOverview(
    returnId: string,
    query?: { status?: string; page?: number; pageSize?: number },
    options?: CallOptions,
  ): Promise<ReturnOverview>
  /** What most organisations have to fix in a return, for the agency: counts only. */
  returnCauses(returnId: string, options?: CallOptions): Promise<ReturnCauses>
  /** Every check of a definition. */
  rules(query?: { definition?: string }, options?: CallOptions): Promise<RuleCatalogue>
  /** One check of a definition. */
  rule(code: string, query?: { definition?: string }, options?: CallOptions): Promise<RuleOfDefinition>
  /** The credential itself. */
  me(options?: CallOptions): Promise<Caller>
  /** The state of the service, for an operator. */
  overview(options?: CallOptions): Promise<Overview>
  /** The organisations that the service knows, for an operator. */
  organisations(
    query?: { page?: number; pageSize?: number },
    options?: CallOptions,
  ): Promise<OrganisationPage>
  /** What is stored for an organisation, for an operator. */
  organisation(eid: string, options?: CallOptions): Promise<Organisation>
  /** Refuses every request for the data of an organisation, and cancels its unfinished runs, for an operator. */
  suspendOrganisation(
    eid: string,
    suspension?: { reason?: string },
    options?: CallOptions,
  ): Promise<Organisation>
  /** Ends the suspension of an organisation, for an operator. */
  resumeOrganisation(eid: string, options?: CallOptions): Promise<Organisation>
}

/** Seconds that one request waits for a run: the most that the service allows. */
const WAIT = 30

/** Seconds that one upload or download waits for a worker: shorter than the usual deadline. */
const SOON = 10

/** Long enough to repeat two waits that are cut off, as in a rolling restart, and for the response to arrive. */
const LONG = (3 * WAIT + 30) * 1000

/** How long it waits if somebody follows the progress. */
const FOLLOW = 2

export function createSubmissions(
  send: SendRequest,
  stream: StreamRequest,
  change: SendChange,
  eid: string | undefined,
): Submissions {
  const own: Record<string, string> = eid === undefined ? {} : { eid }
  const read = async <Body>(path: Path, query: object, options: CallOptions | undefined, headers = {}) =>
    (await send<Body>(path, query as Record<string, unknown>, options, { ...own, ...headers })).body
  const write = <Body>(
    method: 'POST' | 'PUT' | 'DELETE',
    path: Path,
    options: CallOptions | undefined,
    body?: object | FileContent,
    headers: Record<string, string> = {},
  ) =>
    change<Body>(
      path,
      { method, headers: { ...own, ...headers }, ...(body !== undefined && { body }) },
      options,
    )

  const at = (token: string, ...rest: Path): Path => ['submissions', token, ...rest]

  /** Waits for work with files that takes longer than one request. */
  const finish = async (
    token: string,
    jobId: string,
    options: CallOptions | undefined,
  ): Promise<FileWork> => {
    const own = { signal: options?.signal, deadline: LONG }
    const prefer = { prefer: `wait=${WAIT}` }
    for (;;) {
      const work = await read<FileWork>(at(token, 'jobs', jobId), {}, own, prefer)
      if (work.dateCompleted === undefined) continue
      if (work.status === 'Processed') return work
      const { reason: detail } = work
      throw new MahiError('problem', { title: 'The files could not be read', ...(detail && { detail }) })
    }
  }
  const upload = async (
    token: string,
    path: Path,
    options: CallOptions | undefined,
    content: FileContent,
    headers: Record<string, string>,
  ): Promise<SubmissionFile & SubmissionFiles> => {
    const stored = await write<SubmissionFile & SubmissionFiles & FileWork>('PUT', path, options, content, {
      ...headers,
      prefer: `wait=${SOON}`,
    })
    if (stored.jobId === undefined) return stored
    const { files = [] } = await finish(token, stored.jobId, options)
    return { ...files[0], files }
  }
  const download = async (token: string, path: Path, query: object, options: CallOptions | undefined) => {
    for (;;) {
      const headers = { ...own, prefer: `wait=${SOON}` }
      const answer = await stream(path, query as Record<string, unknown>, options, headers)
      // 202: the URL of the work.
      if (answer.headers.get('location') === null) return answer.body
      const { jobId = '' } = (await new Response(answer.body).json()) as FileWork
      await finish(token, jobId, options)
    }
  }
  return {
    create: async ({ returnId, definition, type }, options) => {
      const body = { returnId, definition, type }
      return withField(await write<Submission>('POST', ['submissions'], options, body), 'submissionToken')
    },
    list: (query = {}, options) => read(['submissions'], query, options),
    get: (token, options) => read(at(token), {}, options),
    putFile: (token, file, content, { format = 'csv', gzip, sha256, ifMatch, ...options } = {}) =>
      upload(token, at(token, 'files', file), options, content, {
        'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
        ...(gzip === true && { 'content-encoding': 'gzip' }),
        ...(sha256 !== undefined && { 'content-digest': `sha-256=:${sha256}:` }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      }),
    putFiles: (token, container, { sha256, ...options } = {}) =>
      upload(token, at(token, 'files'), options, container, {
        'content-type': 'application/octet-stream',
        ...(sha256 !== undefined && { 'content-digest': `sha-256=:${sha256}:` }),
      }),
    getFile: (token, file, options) => download(token, at(token, 'files', file), {}, options),
    markedFiles: (token, { format = 'xlsx', ...options } = {}) =>
      download(token, at(token, 'marked-files'), { format }, options),
    correctedFiles: (token, options) => download(token, at(token, 'corrected-files'), {}, options),
    work: (token, jobId, options) => read(at(token, 'jobs', jobId), {}, options),
    putRecords: (token, file, content, options) =>
      write('POST', at(token, 'records', file), options, { content }),
    deleteRecords: (token, file, content, options) =>
      write('DELETE', at(token, 'records', file), options, { content }),
    validate: async (token, options) =>
      withField(await write<ValidationRun>('POST', at(token, 'validation-runs'), options), 'runId'),
    runs: (token, options) => read(at(token, 'validation-runs'), {}, options),
    run: (token, runId, options) => read(at(token, 'validation-runs', runId), {}, options),
    async waitForRun(token, runId, { onProgress, signal, deadline } = {}) {
      const end = deadline === undefined ? Number.POSITIVE_INFINITY : performance.now() + deadline
      for (;;) {
        const left = end - performance.now()
        const most = onProgress === undefined ? WAIT : FOLLOW
        const seconds = Math.max(0, Math.min(most, Math.floor(left / 1000)))
        const own = { signal, deadline: Math.min(left, LONG) }
        const run = await read<ValidationRun>(at(token, 'validation-runs', runId), {}, own, {
          prefer: `wait=${seconds}`,
        })
        onProgress?.(run)
        if (run.dateCompleted !== undefined) return run
        if (performance.now() >= end)
          throw new MahiError('deadline', { title: `The run did not end within ${deadline} ms` })
      }
    },
    cancelRun: (token, runId, options) => write('DELETE', at(token, 'validation-runs', runId), options),
    summary: (token, options) => read(at(token, 'validation-results', 'summary'), {}, options),
    findings: (token, query = {}, options) =>
      read(at(token, 'validation-results', 'findings'), query, options),
    learners: (token, query = {}, options) =>
      read(at(token, 'validation-results', 'learners'), query, options),
    causes: (token, options) => read(at(token, 'validation-results', 'causes'), {}, options),
    changes: (token, query, options) => read(at(token, 'validation-results', 'changes'), query, options),
    explanations: (token, options) => read(at(token, 'explanations'), {}, options),
    explanation: (token, target, options) => read(at(token, 'explanations', target), {}, options),
    explain: (token, target, { reason, text }, options) =>
      write('PUT', at(token, 'explanations', target), options, { reason, text }),
    withdrawExplanation: (token, target, options) =>
      write('DELETE', at(token, 'explanations', target), options),
    submit: (token, options) => write('POST', at(token, 'submit'), options),
    receipt: (token, query = {}, options) => read(at(token, 'receipt'), query, options),
    reopen: (token, { reason, until }, options) =>
      write('POST', at(token, 'reopen'), options, { reason, until }),
    delete: (token, options) => write('DELETE', at(token), options),
    activity: (token, query = {}, options) => read(at(token, 'activity'), query, options),
    returns: (query = {}, options) => read(['returns'], query, options),
    describeReturn: (returnId, described, options) => write('PUT', ['returns', returnId], options, described),
    returnOverview: (returnId, query = {}, options) =>
      read(['returns', returnId, 'overview'], query, options),
    returnCauses: (returnId, options) => read(['returns', returnId, 'causes'], {}, options),
    rules: (query = {}, options) => read(['rules'], query, options),
    rule: (code, query = {}, options) => read(['rules', code], query, options),
    me: (options) => read(['me'], {}, options),
    overview: (options) => read(['overview'], {}, options),
    organisations: (query = {}, options) => read(['organisations'], query, options),
    organisation: (eid, options) => read(['organisations', eid], {}, options),
    suspendOrganisation: (eid, suspension = {}, options) =>
      write('PUT', ['organisations', eid, 'suspension'], options, suspension),
    resumeOrganisation: (eid, options) => write('DELETE', ['organisations', eid, 'suspension'], options),
  }
}

/** A response with the field that the next call needs: a proxy may respond with 200 and any content. */
function withField<Body, Name extends keyof Body>(body: Body, name: Name): Body & Required<Pick<Body, Name>> {
  if (body?.[name] === undefined)
    throw new MahiError('unreadable', { title: `The response lacks ${String(name)}` })
  return body as Body & Required<Pick<Body, Name>>
}
