// Written by `npm run openapi` from openapi.json: a function for each operation that is one request.
import type { Call, CallOptions } from './request.ts'
import type {
  ActivityPage,
  BatchResult,
  Caller,
  ChangesBetweenRuns,
  CodingDecisions,
  Codings,
  CodingsQuery,
  ConfirmedCodingsQuery,
  Explanation,
  ExplanationList,
  FileWork,
  FindingsPage,
  FindingsQuery,
  LearnersPage,
  NewExplanation,
  NewRecords,
  NewReopening,
  NewReturn,
  OccupationDifferences,
  OccupationGroups,
  OccupationRecord,
  OccupationRevisions,
  OccupationSearchPage,
  OccupationSuggestions,
  Organisation,
  OrganisationPage,
  Overview,
  Receipt,
  RecordDeletion,
  ResultsCauses,
  ResultsChanges,
  ResultsSummary,
  Return,
  ReturnCauses,
  ReturnOverview,
  ReturnPage,
  ReviewedCodingPage,
  ReviewedCodings,
  RuleCatalogue,
  RuleOfDefinition,
  SearchQuery,
  Submission,
  SubmissionFiles,
  SubmissionPage,
  SubmittedSubmission,
  SuggestionsQuery,
  Suspension,
  ValidationRun,
  ValidationRunPage,
} from './types.ts'

export function createOccupationOperations(call: Call) {
  return {
    /** The record of one occupation, byte for byte as in the list. */
    get: (code: string, options?: CallOptions) =>
      call<OccupationRecord>('GET', ['occupations', code], options),
    /** Every major and minor group that an occupation belongs to, by code, with the number of its occupations. */
    groups: (options?: CallOptions) =>
      call<OccupationGroups>('GET', ['occupation-groups'], options),
    /** The major group with a code, the minor group with it, or both: the two kinds are numbered separately. */
    group: (code: string, options?: CallOptions) =>
      call<OccupationGroups>('GET', ['occupation-groups', code], options),
    /** The latest revisions of the catalogue, newest first, with their origins. */
    revisions: (query: { limit?: number | undefined } = {}, options?: CallOptions) =>
      call<OccupationRevisions>('GET', ['occupation-revisions'], { ...options, query: nameParameters(query) }),
    /** The records that differ between a revision and the one before it, or another one. */
    revision: (revision: number, query: { since?: number | undefined; after?: string | undefined } = {}, options?: CallOptions) =>
      call<OccupationDifferences>('GET', ['occupation-revisions', revision], { ...options, query: nameParameters(query) }),
    /**
     * The occupations that a query may mean, best first. The search covers titles, alternative titles, search-only
     * names, descriptions and tasks, and tolerates spelling mistakes and incomplete words.
     */
    search: (query: SearchQuery = {}, options?: CallOptions) =>
      call<OccupationSearchPage>('GET', ['occupations', 'search'], { ...options, query: nameParameters(query) }),
    /** Titles and alternative titles that complete what a user has typed so far. */
    suggest: (query: SuggestionsQuery = {}, options?: CallOptions) =>
      call<OccupationSuggestions>('GET', ['occupations', 'suggestions'], { ...options, query: nameParameters(query) }),
    /**
     * The occupation of each job title, with the probability that it is right. Where no code is more likely right than
     * wrong, the response has the likeliest group instead.
     */
    code: (body: CodingsQuery, options?: CallOptions) =>
      call<Codings>('POST', ['codings'], { ...options, body }),
    /**
     * Stores what a reviewer has decided about job titles: the code, or that none is known. A decision replaces the
     * earlier one of the same client, never that of another: if they disagree, the title is `disputed`. Confirmed
     * titles become names of the search at the next revision of the catalogue.
     */
    confirmCodings: (body: CodingDecisions, options?: CallOptions) =>
      call<ReviewedCodings>('POST', ['confirmed-codings'], { ...options, body }),
    /** The job titles that reviewers have decided about, in alphabetical order. */
    confirmedCodings: (query: ConfirmedCodingsQuery = {}, options?: CallOptions) =>
      call<ReviewedCodingPage>('GET', ['confirmed-codings'], { ...options, query: nameParameters(query) }),
    /** Withdraws the client's own decision about a job title. Those of other reviewers stay. */
    withdrawCoding: (id: string, options?: CallOptions) =>
      call<ReviewedCodings>('DELETE', ['confirmed-codings', id], options),
  }
}

export function createSubmissionOperations(call: Call) {
  return {
    /** The submissions of the organisation, newest first. */
    list: (query: { page?: number | undefined; pageSize?: number | undefined } = {}, options?: CallOptions) =>
      call<SubmissionPage>('GET', ['submissions'], { ...options, query: nameParameters(query) }),
    /** The state of a submission, its files, and its last validation run. */
    get: (submissionToken: string, options?: CallOptions) =>
      call<Submission>('GET', ['submissions', submissionToken], options),
    /**
     * Cancels a submission and deletes all its records and findings. They are unreadable at once, and a job removes
     * them from the database. The token remains known as Cancelled.
     */
    delete: (submissionToken: string, options?: CallOptions) =>
      call<Submission>('DELETE', ['submissions', submissionToken], options),
    /**
     * Freezes a submission, and returns its receipt. The current run must cover the current files, have made every
     * check whose findings must be fixed or explained, and have found no errors. A check whose file or column is absent
     * is not needed if the definition permits that. Warnings are allowed; those that the definition wants explained
     * must have an explanation.
     */
    submit: (submissionToken: string, options?: CallOptions) =>
      call<SubmittedSubmission>('POST', ['submissions', submissionToken, 'submit'], options),
    /**
     * What was submitted, by whom and when: the files with their digests, the definition and its version, the run with
     * its counts, and the explanations. A reopened submission keeps its receipts.
     */
    receipt: (submissionToken: string, query: { number?: number | undefined } = {}, options?: CallOptions) =>
      call<Receipt>('GET', ['submissions', submissionToken, 'receipt'], { ...options, query: nameParameters(query) }),
    /**
     * Opens a submitted submission again, so that its organisation can change and submit it again. Its receipts and
     * activities remain. It is for the collecting agency; no EID is needed.
     */
    reopen: (submissionToken: string, body: NewReopening, options?: CallOptions) =>
      call<Submission>('POST', ['submissions', submissionToken, 'reopen'], { ...options, body }),
    /**
     * Who created, uploaded, repaired, checked, explained, submitted, reopened, deleted or downloaded what, newest
     * first. It is kept as long as the record of the submission, also after its data was deleted, and contains no data
     * of learners. As `application/x-ndjson`, the whole list is streamed.
     */
    activity: (submissionToken: string, query: { page?: number | undefined; pageSize?: number | undefined } = {}, options?: CallOptions) =>
      call<ActivityPage>('GET', ['submissions', submissionToken, 'activity'], { ...options, query: nameParameters(query) }),
    /**
     * Adds a batch of records to a file that is built from batches; an uploaded file is replaced as a whole. A record
     * replaces the earlier one with the same `localId`; within a batch, the last one applies.
     */
    putRecords: (submissionToken: string, fileType: string, body: NewRecords, options?: CallOptions) =>
      call<BatchResult>('POST', ['submissions', submissionToken, 'records', fileType], { ...options, body }),
    /** Deletes the records of a file that have the given `localId`s. */
    deleteRecords: (submissionToken: string, fileType: string, body: RecordDeletion, options?: CallOptions) =>
      call<BatchResult>('DELETE', ['submissions', submissionToken, 'records', fileType], { ...options, body }),
    /**
     * Restores the files as they were before the last repair. That is possible until a file changes or the submission
     * is submitted.
     */
    undoRepairs: (submissionToken: string, options?: CallOptions) =>
      call<SubmissionFiles>('DELETE', ['submissions', submissionToken, 'repairs'], options),
    /**
     * The state of an upload that is read, or of copies that are made. `Prefer: wait=30` delays the response until the
     * work has ended, for at most that many seconds. An hour after it was last used, the work is forgotten. The scope
     * `submissions:write` is enough, too.
     */
    work: (submissionToken: string, jobId: string, options?: CallOptions) =>
      call<FileWork>('GET', ['submissions', submissionToken, 'jobs', jobId], options),
    /** The stored runs of a submission, newest first. */
    runs: (submissionToken: string, options?: CallOptions) =>
      call<ValidationRunPage>('GET', ['submissions', submissionToken, 'validation-runs'], options),
    /**
     * The state of a run. `Prefer: wait=30` delays the response until the run has ended, for at most that many seconds.
     */
    run: (submissionToken: string, runId: number, options?: CallOptions) =>
      call<ValidationRun>('GET', ['submissions', submissionToken, 'validation-runs', runId], options),
    /** Cancels a run that is queued or in progress. A finished run does not change. */
    cancelRun: (submissionToken: string, runId: number, options?: CallOptions) =>
      call<ValidationRun>('DELETE', ['submissions', submissionToken, 'validation-runs', runId], options),
    /** What the current run found, by code, with exact totals, and the checks that could not run. */
    summary: (submissionToken: string, options?: CallOptions) =>
      call<ResultsSummary>('GET', ['submissions', submissionToken, 'validation-results', 'summary'], options),
    /**
     * What to fix, instead of every finding: each finding of the current run belongs to exactly one cause. A key is the
     * same in other runs.
     */
    causes: (submissionToken: string, options?: CallOptions) =>
      call<ResultsCauses>('GET', ['submissions', submissionToken, 'validation-results', 'causes'], options),
    /** The findings that are new, fixed and still open since the run before the current one, with exact totals. */
    changes: (submissionToken: string, query: ChangesBetweenRuns = {}, options?: CallOptions) =>
      call<ResultsChanges>('GET', ['submissions', submissionToken, 'validation-results', 'changes'], { ...options, query: nameParameters(query) }),
    /**
     * A page of the stored findings of the current run, each with its file, line, field, value and cause. Filters
     * combine with AND; `Filter.Cause` selects those of one cause, and `onlyNew` those that the run before did not
     * have.
     */
    findings: (submissionToken: string, query: FindingsQuery = {}, options?: CallOptions) =>
      call<FindingsPage>('GET', ['submissions', submissionToken, 'validation-results', 'findings'], { ...options, query: nameParameters(query) }),
    /**
     * The students of the current run with their numbers of stored findings, those with most first. `Filter.StudentId`
     * of the findings shows those of one.
     */
    learners: (submissionToken: string, query: { page?: number | undefined; pageSize?: number | undefined } = {}, options?: CallOptions) =>
      call<LearnersPage>('GET', ['submissions', submissionToken, 'validation-results', 'learners'], { ...options, query: nameParameters(query) }),
    /**
     * Why warnings are right, whether each explanation still holds for the current run, and which warnings must be
     * explained before the submission.
     */
    explanations: (submissionToken: string, options?: CallOptions) =>
      call<ExplanationList>('GET', ['submissions', submissionToken, 'explanations'], options),
    /** Why the warnings with a code, or of a cause, are right. */
    explanation: (submissionToken: string, target: string, options?: CallOptions) =>
      call<Explanation>('GET', ['submissions', submissionToken, 'explanations', target], options),
    /**
     * Says why the warnings with a code, or of a cause, are right. It replaces an earlier explanation of the same, and
     * holds in later runs until they have more than 10 % or 5 more findings, whichever is larger.
     */
    explain: (submissionToken: string, target: string, body: NewExplanation, options?: CallOptions) =>
      call<Explanation>('PUT', ['submissions', submissionToken, 'explanations', target], { ...options, body }),
    /** Withdraws the explanation of a code or a cause. The activities keep that there was one. */
    withdrawExplanation: (submissionToken: string, target: string, options?: CallOptions) =>
      call<ExplanationList>('DELETE', ['submissions', submissionToken, 'explanations', target], options),
    /**
     * The returns that the service collects from the organisation, with their dates and how far the organisation is
     * with each. Without the header EID, a credential with the scope operate lists all returns, without the state of an
     * organisation. Empty if the service collects every return.
     */
    returns: (query: { page?: number | undefined; pageSize?: number | undefined; includeIndicative?: boolean | undefined } = {}, options?: CallOptions) =>
      call<ReturnPage>('GET', ['returns'], { ...options, query: nameParameters(query) }),
    /**
     * For the collecting agency: adds a return, or replaces the one with this id, after the checks of `mahi returns
     * import`. A return is replaced by another one only with `If-Match`. If anything is wrong, nothing is stored, and
     * the detail names the mistakes. No EID is needed.
     */
    describeReturn: (returnId: string, body: NewReturn, { ifMatch, ...options }: CallOptions & { ifMatch?: string | undefined } = {}) =>
      call<Return>('PUT', ['returns', returnId], { ...options, body, headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } }),
    /**
     * For the collecting agency: the organisations that have not started, have errors, are ready or have submitted, and
     * what changed in the last 24 hours. Without a list of organisations, those of valid keys that may submit are
     * expected, unless they are suspended. No EID is needed.
     */
    returnOverview: (returnId: string, query: { status?: 'NotStarted' | 'FilesReceived' | 'Validating' | 'HasErrors' | 'Incomplete' | 'Ready' | 'Submitted' | 'Reopened' | undefined; page?: number | undefined; pageSize?: number | undefined } = {}, options?: CallOptions) =>
      call<ReturnOverview>('GET', ['returns', returnId, 'overview'], { ...options, query: nameParameters(query) }),
    /**
     * For the collecting agency: what most organisations have to fix, by the current runs of their submissions. Counts
     * only: no values, and no data of learners. No EID is needed.
     */
    returnCauses: (returnId: string, options?: CallOptions) =>
      call<ReturnCauses>('GET', ['returns', returnId, 'causes'], options),
    /** All checks of a definition, with their reasons and remedies. No EID is needed. */
    rules: (query: { definition?: string | undefined } = {}, options?: CallOptions) =>
      call<RuleCatalogue>('GET', ['rules'], { ...options, query: nameParameters(query) }),
    /** One check of a definition. No EID is needed. */
    rule: (code: string, query: { definition?: string | undefined } = {}, options?: CallOptions) =>
      call<RuleOfDefinition>('GET', ['rules', code], { ...options, query: nameParameters(query) }),
    /**
     * The client, scopes, organisations, expiry and rate limits of the credential in the request. With the header EID,
     * the remaining requests are those for that organisation.
     */
    me: (options?: CallOptions) =>
      call<Caller>('GET', ['me'], options),
    /** The queue, the keys without their secrets, and counts, for operators. */
    overview: (options?: CallOptions) =>
      call<Overview>('GET', ['overview'], options),
    /**
     * The organisations that keys cover, that have submissions, or that are suspended, with what is stored for each.
     */
    organisations: (query: { page?: number | undefined; pageSize?: number | undefined } = {}, options?: CallOptions) =>
      call<OrganisationPage>('GET', ['organisations'], { ...options, query: nameParameters(query) }),
    /** What is stored for an organisation. */
    organisation: (eid: string, options?: CallOptions) =>
      call<Organisation>('GET', ['organisations', eid], options),
    /**
     * Refuses every request for the data of an organisation, with any credential, until it is resumed, and cancels its
     * runs that are queued or in progress. Nothing is deleted.
     */
    suspendOrganisation: (eid: string, body: Suspension = {}, options?: CallOptions) =>
      call<Organisation>('PUT', ['organisations', eid, 'suspension'], { ...options, body }),
    /**
     * Ends the suspension of an organisation. One that is not suspended does not change. Cancelled runs are not started
     * again.
     */
    resumeOrganisation: (eid: string, options?: CallOptions) =>
      call<Organisation>('DELETE', ['organisations', eid, 'suspension'], options),
  }
}

const PARAMETERS: ReadonlyMap<string, string> = new Map([
  ['after', 'After'],
  ['cause', 'Filter.Cause'],
  ['codes', 'Filter.Codes'],
  ['courseCode', 'Filter.CourseCode'],
  ['cursor', 'Cursor'],
  ['errorCode', 'Filter.ErrorCode'],
  ['errorType', 'Filter.ErrorType'],
  ['fields', 'Fields'],
  ['fileType', 'Filter.FileType'],
  ['groupRelation', 'Filter.GroupRelation'],
  ['lang', 'Lang'],
  ['lastUpdatedAfter', 'Filter.LastUpdatedAfter'],
  ['lastUpdatedBefore', 'Filter.LastUpdatedBefore'],
  ['limit', 'Limit'],
  ['majorGroupCode', 'Filter.MajorGroupCode'],
  ['minorGroupCode', 'Filter.MinorGroupCode'],
  ['since', 'Since'],
  ['state', 'Filter.State'],
  ['studentId', 'Filter.StudentId'],
])

/** A name that does not exist is sent too: the service refuses it, where leaving it out would list everything. */
export function nameParameters(query: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [PARAMETERS.get(name) ?? name, value]))
}
