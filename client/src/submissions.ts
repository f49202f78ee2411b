import { MahiError } from './errors.ts'
import { createSubmissionOperations } from './operations.ts'
import type { Call, CallOptions, FileContent, HeaderFields, Path, Requests, Sent } from './request.ts'
import type {
  FileWork,
  NewSubmission,
  Repairs,
  Submission,
  SubmissionFile,
  SubmissionFiles,
  ValidationRun,
} from './types.ts'

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

/** How to wait for a run. */
export interface WaitOptions extends CallOptions {
  /** Called with each state of the run that is seen, about every two seconds. */
  onProgress?: ((run: ValidationRun) => void) | undefined
}

/** Submissions. Every function here rejects with a `MahiError`, or with the signal's reason. */
/** Seconds that one request waits for a run: the most that the service allows. */
const WAIT = 30

/** Seconds that one upload or download waits for a worker: shorter than the usual deadline. */
const SOON = 10

/** Long enough to repeat two waits that are cut off, as in a rolling restart, and for the response to arrive. */
const LONG = (3 * WAIT + 30) * 1000

/** How long it waits if somebody follows the progress. */
const FOLLOW = 2

export function createSubmissions(requests: Requests, own: HeaderFields) {
  const call: Call = (method, path, sent) =>
    requests.call(method, path, { ...sent, headers: { ...own, ...sent?.headers } })

  const at = (token: string, ...rest: Path): Path => ['submissions', token, ...rest]

  /** Waits for work with files that takes longer than one request. */
  const finish = async (token: string, jobId: string, signal: AbortSignal | undefined) => {
    for (;;) {
      const headers = { prefer: `wait=${WAIT}` }
      const sent = { signal, deadline: LONG, headers }
      const work = await call<FileWork>('GET', at(token, 'jobs', jobId), sent)
      if (work.dateCompleted === undefined) continue
      if (work.status === 'Processed') return work
      const { reason: detail } = work
      throw new MahiError('problem', { title: 'The files could not be read', ...(detail && { detail }) })
    }
  }
  const upload = async (token: string, path: Path, sent: Sent): Promise<SubmissionFile & SubmissionFiles> => {
    const headers = { ...sent.headers, prefer: `wait=${SOON}` }
    type Stored = SubmissionFile & SubmissionFiles & FileWork
    const stored = await call<Stored>('PUT', path, { ...sent, headers })
    if (stored.jobId === undefined) return stored
    const { files = [] } = await finish(token, stored.jobId, sent.signal)
    return { ...files[0], files }
  }
  const download = async (token: string, path: Path, sent: Sent | undefined) => {
    for (;;) {
      const headers = { ...own, prefer: `wait=${SOON}` }
      const answer = await requests.stream(path, { ...sent, headers })
      // 202: the URL of the work.
      if (answer.headers.get('location') === null) return answer.body
      const { jobId = '' } = (await answer.json()) as FileWork
      await finish(token, jobId, sent?.signal)
    }
  }
  return {
    ...createSubmissionOperations(call),
    /** Creates a submission, or returns the organisation's open one for the same return. */
    create: async (body: NewSubmission, options?: CallOptions) =>
      withField(await call<Submission>('POST', ['submissions'], { ...options, body }), 'submissionToken'),
    /** Replaces a file, such as `learners`. */
    putFile: (
      token: string,
      file: string,
      content: FileContent,
      { format = 'csv', gzip, sha256, ifMatch, ...options }: PutFileOptions = {},
    ) =>
      upload(token, at(token, 'files', file), {
        ...options,
        body: content,
        headers: {
          'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
          ...(gzip === true && { 'content-encoding': 'gzip' }),
          ...describeDigest(sha256),
          ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        },
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
      upload(token, at(token, 'files'), {
        ...options,
        body: container,
        headers: { 'content-type': 'application/octet-stream', ...describeDigest(sha256) },
      }),
    /** The current state of a file. */
    getFile: (token: string, file: string, options?: CallOptions) =>
      download(token, at(token, 'files', file), options),
    /**
     * The current files with their findings marked: a workbook (`xlsx`, the default), or CSV files in a ZIP archive. The
     * files are checked for it, so the response begins after the time of a check.
     */
    markedFiles: (
      token: string,
      { format = 'xlsx', ...options }: CallOptions & { format?: 'xlsx' | 'csv' } = {},
    ) => download(token, at(token, 'marked-files'), { ...options, query: { format } }),
    /** Corrected copies of the current files in a ZIP archive, with a list of every change. */
    correctedFiles: (token: string, options?: CallOptions) =>
      download(token, at(token, 'corrected-files'), options),
    /** What a repair of the current files would change. Nothing changes. */
    repairs: async (token: string, options?: CallOptions) => {
      const headers = { prefer: `wait=${SOON}` }
      for (;;) {
        const found = await call<Repairs & FileWork>('GET', at(token, 'repairs'), { ...options, headers })
        if (found.jobId === undefined) return found as Repairs
        await finish(token, found.jobId, options?.signal)
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
      const done = await call<Repairs & FileWork>('POST', at(token, 'repairs'), { ...options, headers })
      if (done.jobId === undefined) return done
      const { changes, files } = await finish(token, done.jobId, options.signal)
      return { submissionToken: token, ...(changes !== undefined && { changes }), ...(files && { files }) }
    },
    /** Requests a validation run, or returns the one in progress. */
    validate: async (token: string, options?: CallOptions) =>
      withField(await call<ValidationRun>('POST', at(token, 'validation-runs'), options), 'runId'),
    /** Waits until a run has ended, whatever its result; without limit unless `deadline` is given. */
    async waitForRun(token: string, runId: number, { onProgress, signal, deadline }: WaitOptions = {}) {
      const end = deadline === undefined ? Number.POSITIVE_INFINITY : performance.now() + deadline
      for (;;) {
        const left = end - performance.now()
        const most = onProgress === undefined ? WAIT : FOLLOW
        const seconds = Math.max(0, Math.min(most, Math.floor(left / 1000)))
        const headers = { prefer: `wait=${seconds}` }
        const sent = { signal, deadline: Math.min(left, LONG), headers }
        const run = await call<ValidationRun>('GET', at(token, 'validation-runs', runId), sent)
        onProgress?.(run)
        if (run.dateCompleted !== undefined) return run
        if (performance.now() >= end)
          throw new MahiError('deadline', { title: `The run did not end within ${deadline} ms` })
      }
    },
  }
}

function describeDigest(sha256: string | undefined): HeaderFields {
  return sha256 === undefined ? {} : { 'content-digest': `sha-256=:${sha256}:` }
}

/** A response with the field that the next call needs: a proxy may respond with 200 and any content. */
function withField<Body, Name extends keyof Body>(body: Body, name: Name): Body & Required<Pick<Body, Name>> {
  if (body?.[name] === undefined)
    throw new MahiError('unreadable', { title: `The response lacks ${String(name)}` })
  return body as Body & Required<Pick<Body, Name>>
}
