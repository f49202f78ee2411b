import { MahiError } from './errors.ts'
import type { CallOptions, Path, SendChange, SendRequest, StreamRequest } from './request.ts'
import type {
  ActivityPage,
  BatchResult,
  Caller,
  ChangesBetweenRuns,
  Explanation,
  ExplanationList,
  FileWork,
  FindingsPage,
  FindingsQuery,
  LearnersPage,
  NewExplanation,
  NewReopening,
  NewReturn,
  NewSubmission,
  Organisation,
  OrganisationPage,
  Overview,
  Receipt,
  Repairs,
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

/** Which page of a list to get. */
interface Paging {
  page?: number
  pageSize?: number
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

/** How to wait for a run. */
export interface WaitOptions extends CallOptions {
  /** Called with each state of the run that is seen, about every two seconds. */
  onProgress?: ((run: ValidationRun) => void) | undefined
}

/** Submissions. Every function here rejects with a `MahiError`, or with the signal's reason. */
export type Submissions = ReturnType<typeof createSubmissions>

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
) {
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
    /** Creates a submission, or returns the organisation's open one for the same return. */
    create: async ({ returnId, definition, type }: NewSubmission, options?: CallOptions) => {
      const body = { returnId, definition, type }
      return withField(await write<Submission>('POST', ['submissions'], options, body), 'submissionToken')
    },
    /** A page of the organisation's submissions, newest first. */
    list: (query: Paging = {}, options?: CallOptions) =>
      read<SubmissionPage>(['submissions'], query, options),
    /** The state of a submission. */
    get: (token: string, options?: CallOptions) => read<Submission>(at(token), {}, options),
    /** Replaces a file, such as `learners`. */
    putFile: (
      token: string,
      file: string,
      content: FileContent,
      { format = 'csv', gzip, sha256, ifMatch, ...options }: PutFileOptions = {},
    ) =>
      upload(token, at(token, 'files', file), options, content, {
        'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
        ...(gzip === true && { 'content-encoding': 'gzip' }),
        ...(sha256 !== undefined && { 'content-digest': `sha-256=:${sha256}:` }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      }),
    /**
     * Replaces files by those in a ZIP archive or by the sheets of a workbook (XLSX), which are recognised by their names.
     * If one is refused, none is replaced.
     */
    putFiles: (
      token: string,
      container: FileContent,
      { sha256, ...options }: CallOptions & Pick<PutFileOptions, 'sha256'> = {},
    ) =>
      upload(token, at(token, 'files'), options, container, {
        'content-type': 'application/octet-stream',
        ...(sha256 !== undefined && { 'content-digest': `sha-256=:${sha256}:` }),
      }),
    /** The current state of a file. */
    getFile: (token: string, file: string, options?: CallOptions) =>
      download(token, at(token, 'files', file), {}, options),
    /**
     * The current files with their findings marked: a workbook (`xlsx`, the default), or CSV files in a ZIP archive. The
     * files are checked for it, so the response begins after the time of a check.
     */
    markedFiles: (
      token: string,
      { format = 'xlsx', ...options }: CallOptions & { format?: 'xlsx' | 'csv' } = {},
    ) => download(token, at(token, 'marked-files'), { format }, options),
    /** Corrected copies of the current files in a ZIP archive, with a list of every change. */
    correctedFiles: (token: string, options?: CallOptions) =>
      download(token, at(token, 'corrected-files'), {}, options),
    /** What a repair of the current files would change. Nothing changes. */
    repairs: async (token: string, options?: CallOptions) => {
      const headers = { prefer: `wait=${SOON}` }
      for (;;) {
        const found = await read<Repairs & FileWork>(at(token, 'repairs'), {}, options, headers)
        if (found.jobId === undefined) return found as Repairs
        await finish(token, found.jobId, options)
      }
    },
    /**
     * Repairs every fault that has only one possible repair. With `ifMatch`, an ETag of the files, it is refused with
     * status 412 if they have changed since.
     */
    repair: async (
      token: string,
      { ifMatch, ...options }: CallOptions & Pick<PutFileOptions, 'ifMatch'> = {},
    ): Promise<Repairs> => {
      const headers = { prefer: `wait=${SOON}`, ...(ifMatch !== undefined && { 'if-match': ifMatch }) }
      const done = await write<Repairs & FileWork>('POST', at(token, 'repairs'), options, undefined, headers)
      if (done.jobId === undefined) return done
      const { changes, files } = await finish(token, done.jobId, options)
      return { submissionToken: token, ...(changes !== undefined && { changes }), ...(files && { files }) }
    },
    /** Restores the files as they were before the last repair, until they change. */
    undoRepairs: (token: string, options?: CallOptions) =>
      write<SubmissionFiles>('DELETE', at(token, 'repairs'), options),
    /** The state of an upload that is read, or of copies that are made. The calls above wait for the end. */
    work: (token: string, jobId: string, options?: CallOptions) =>
      read<FileWork>(at(token, 'jobs', jobId), {}, options),
    /** Adds records to a file, or replaces those with the same `localId`. */
    putRecords: (token: string, file: string, content: readonly SubmittedRecord[], options?: CallOptions) =>
      write<BatchResult>('POST', at(token, 'records', file), options, { content }),
    /** Deletes records of a file. */
    deleteRecords: (token: string, file: string, content: readonly Deletion[], options?: CallOptions) =>
      write<BatchResult>('DELETE', at(token, 'records', file), options, { content }),
    /** Requests a validation run, or returns the one in progress. */
    validate: async (token: string, options?: CallOptions) =>
      withField(await write<ValidationRun>('POST', at(token, 'validation-runs'), options), 'runId'),
    /** The runs that are kept, newest first. */
    runs: (token: string, options?: CallOptions) =>
      read<ValidationRunPage>(at(token, 'validation-runs'), {}, options),
    /** The state of a run. */
    run: (token: string, runId: number, options?: CallOptions) =>
      read<ValidationRun>(at(token, 'validation-runs', runId), {}, options),
    /** Waits until a run has ended, whatever its result; without limit unless `deadline` is given. */
    async waitForRun(token: string, runId: number, { onProgress, signal, deadline }: WaitOptions = {}) {
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
    /** Cancels a run that is queued or in progress. */
    cancelRun: (token: string, runId: number, options?: CallOptions) =>
      write<ValidationRun>('DELETE', at(token, 'validation-runs', runId), options),
    /** What the current run found, by code. */
    summary: (token: string, options?: CallOptions) =>
      read<ResultsSummary>(at(token, 'validation-results', 'summary'), {}, options),
    /** Findings with their places: file, line, field, value and cause. */
    findings: (token: string, query: FindingsQuery = {}, options?: CallOptions) =>
      read<FindingsPage>(at(token, 'validation-results', 'findings'), query, options),
    /** The students with findings, those with most first. */
    learners: (token: string, query: Paging = {}, options?: CallOptions) =>
      read<LearnersPage>(at(token, 'validation-results', 'learners'), query, options),
    /** What to fix, in order: each finding of the current run belongs to exactly one cause. */
    causes: (token: string, options?: CallOptions) =>
      read<ResultsCauses>(at(token, 'validation-results', 'causes'), {}, options),
    /** How the findings of the current run and the one before differ. */
    changes: (token: string, query: ChangesBetweenRuns = {}, options?: CallOptions) =>
      read<ResultsChanges>(at(token, 'validation-results', 'changes'), query, options),
    /** Why warnings are right, and which warnings must still be explained. */
    explanations: (token: string, options?: CallOptions) =>
      read<ExplanationList>(at(token, 'explanations'), {}, options),
    /** Why the warnings with a code, or of a cause, are right. */
    explanation: (token: string, target: string, options?: CallOptions) =>
      read<Explanation>(at(token, 'explanations', target), {}, options),
    /** Explains the warnings with a code, or of a cause. */
    explain: (token: string, target: string, { reason, text }: NewExplanation, options?: CallOptions) =>
      write<Explanation>('PUT', at(token, 'explanations', target), options, { reason, text }),
    /** Withdraws an explanation, and returns those that are left. */
    withdrawExplanation: (token: string, target: string, options?: CallOptions) =>
      write<ExplanationList>('DELETE', at(token, 'explanations', target), options),
    /**
     * Submits a submission, whose current run must cover the current files and have found no errors, and returns it with
     * its receipt.
     */
    submit: (token: string, options?: CallOptions) =>
      write<SubmittedSubmission>('POST', at(token, 'submit'), options),
    /** What was submitted, by whom and when. */
    receipt: (token: string, query: { number?: number } = {}, options?: CallOptions) =>
      read<Receipt>(at(token, 'receipt'), query, options),
    /** Opens a submitted submission again, for the agency. */
    reopen: (token: string, { reason, until }: NewReopening, options?: CallOptions) =>
      write<Submission>('POST', at(token, 'reopen'), options, { reason, until }),
    /** Cancels a submission and deletes every record and finding of it. */
    delete: (token: string, options?: CallOptions) => write<Submission>('DELETE', at(token), options),
    /** Who did what with a submission, newest first. */
    activity: (token: string, query: Paging = {}, options?: CallOptions) =>
      read<ActivityPage>(at(token, 'activity'), query, options),
    /** The returns that the organisation is expected to submit, and how far it is with each; without `eid`, all returns, for an operator. */
    returns: (
      query: { page?: number; pageSize?: number; includeIndicative?: boolean } = {},
      options?: CallOptions,
    ) => read<ReturnPage>(['returns'], query, options),
    /** Adds a return, or replaces the one whose `etag` is `ifMatch` (`*` for any), for the agency. */
    describeReturn: (
      returnId: string,
      described: NewReturn,
      { ifMatch, ...options }: CallOptions & Pick<PutFileOptions, 'ifMatch'> = {},
    ) =>
      write<Return>(
        'PUT',
        ['returns', returnId],
        options,
        described,
        ifMatch === undefined ? {} : { 'if-match': ifMatch },
      ),
    /** How far all organisations are with a return, for the agency. */
    returnOverview: (
      returnId: string,
      query: { status?: string; page?: number; pageSize?: number } = {},
      options?: CallOptions,
    ) => read<ReturnOverview>(['returns', returnId, 'overview'], query, options),
    /** What most organisations have to fix in a return, for the agency: counts only. */
    returnCauses: (returnId: string, options?: CallOptions) =>
      read<ReturnCauses>(['returns', returnId, 'causes'], {}, options),
    /** Every check of a definition. */
    rules: (query: { definition?: string } = {}, options?: CallOptions) =>
      read<RuleCatalogue>(['rules'], query, options),
    /** One check of a definition. */
    rule: (code: string, query: { definition?: string } = {}, options?: CallOptions) =>
      read<RuleOfDefinition>(['rules', code], query, options),
    /** The credential itself. */
    me: (options?: CallOptions) => read<Caller>(['me'], {}, options),
    /** The state of the service, for an operator. */
    overview: (options?: CallOptions) => read<Overview>(['overview'], {}, options),
    /** The organisations that the service knows, for an operator. */
    organisations: (query: Paging = {}, options?: CallOptions) =>
      read<OrganisationPage>(['organisations'], query, options),
    /** What is stored for an organisation, for an operator. */
    organisation: (eid: string, options?: CallOptions) =>
      read<Organisation>(['organisations', eid], {}, options),
    /** Refuses every request for the data of an organisation, and cancels its unfinished runs, for an operator. */
    suspendOrganisation: (eid: string, suspension: { reason?: string } = {}, options?: CallOptions) =>
      write<Organisation>('PUT', ['organisations', eid, 'suspension'], options, suspension),
    /** Ends the suspension of an organisation, for an operator. */
    resumeOrganisation: (eid: string, options?: CallOptions) =>
      write<Organisation>('DELETE', ['organisations', eid, 'suspension'], options),
  }
}

/** A response with the field that the next call needs: a proxy may respond with 200 and any content. */
function withField<Body, Name extends keyof Body>(body: Body, name: Name): Body & Required<Pick<Body, Name>> {
  if (body?.[name] === undefined)
    throw new MahiError('unreadable', { title: `The response lacks ${String(name)}` })
  return body as Body & Required<Pick<Body, Name>>
}
