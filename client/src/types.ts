// Written by `npm run openapi` from openapi.json.
// Every field of a response is optional: one without a value is absent.

/** An error (RFC 9457). */
export interface Problem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
}

/** An error of the parameters or of the body. */
export interface ValueProblem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
  /** For each invalid value, by its name, what is wrong with it. */
  errors?: Record<string, string[]>
}

/** An error of an operation on a submission, with a code where one fits. */
export interface SubmissionProblem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
  /** For each invalid value, by its name, what is wrong with it. */
  errors?: Record<string, string[]>
  /** A code of the public documentation, where one fits: such as `DS1`. */
  errorCode?: string
}

/** An error in the pagination parameters. */
export interface ResultsProblem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
  /** For each invalid value, by its name, what is wrong with it. */
  errors?: Record<string, string[]>
  /** The return that the submission belongs to. */
  returnId?: string
  /** The token of the submission. */
  submissionToken?: string
  /** The parameters as received. */
  content?: Record<string, string>
  /** `PR1`: a parameter is invalid. `PR2`: the page is past the last one. */
  errorCode?: string
}

/** A code that does not exist, and codes that resemble it. */
export interface SimilarCodesProblem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
  /** Codes that resemble the given one. */
  similarCodes?: string[]
}

/** An occupation that was removed, and its successors. */
export interface RemovedOccupationProblem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
  /** When the occupation was removed. */
  removedDate?: string
  /** The codes that succeed it. */
  replacedBy?: string[]
}

/** A page of the occupation catalogue. */
export interface OccupationPage {
  /** The first occupation code of the next page; absent on the last page. */
  nextCursor?: string
  /** The first occupation code of this page; absent on an empty page. */
  currentCursor?: string
  /** Number of records that match the filters, whatever the cursor. */
  totalCount?: number
  /** The records of this page, by occupation code. */
  data?: OccupationRecord[]
  /** Number of records on this page. */
  resultsCount?: number
  /** The codes in `Filter.Codes` that the catalogue does not have; absent if it has all of them. */
  missingCodes?: MissingOccupation[]
}

/** One occupation. A field without a value is absent. */
export interface OccupationRecord {
  /** Code that uniquely identifies the occupation. */
  occupationCode?: string
  /** Title in New Zealand English. */
  titleEnglish?: string
  /** Title in te reo Māori. */
  titleMaori?: string
  /** Plural of the title, in New Zealand English. */
  titlePluralEnglish?: string
  /** Plural of the title, in te reo Māori. */
  titlePluralMaori?: string
  /** Up to seven alternative titles or official-statistics synonyms, in New Zealand English. */
  altJobTitlesEnglish?: string[]
  /** Up to seven alternative titles or synonyms, in te reo Māori, where available for Kaupapa Māori occupations. */
  altJobTitlesMaori?: string[]
  /** Summary of the occupation, in New Zealand English. */
  descriptionEnglish?: string
  /** Summary of the occupation, in te reo Māori, where available for Kaupapa Māori occupations. */
  descriptionMaori?: string
  /** The Kaupapa summary, in New Zealand English, where available for Kaupapa Māori occupations. */
  kaupapaDescriptionEnglish?: string
  /** The Kaupapa summary, in te reo Māori, where available for Kaupapa Māori occupations. */
  kaupapaDescriptionMaori?: string
  /** Tasks of the occupation, in New Zealand English. */
  detailedWorkActivitiesEnglish?: string[]
  /** Tasks of the occupation, in te reo Māori, where available for Kaupapa Māori occupations. */
  detailedWorkActivitiesMaori?: string[]
  /** How long someone needs to train for the occupation. */
  trainingDuration?: string
  /**
   * Day-to-day life in the occupation (working hours, locations, travel, conditions, physical or emotional demands,
   * personal attributes), in New Zealand English.
   */
  lifeOnTheJobEnglish?: string[]
  /** The same in te reo Māori, where available for Kaupapa Māori occupations. */
  lifeOnTheJobMaori?: string[]
  /** What is needed to enter the occupation. */
  entryRequirements?: EntryRequirements
  /** Minor groups the occupation belongs to. At most one is Primary. */
  minorGroups?: MinorGroupRelation[]
  /** Annual pay figures, each at least as high as the one before. (The name is spelled so.) */
  renumeration?: Renumeration
  /** Who registers people in the occupation; present only where such an authority exists. */
  registrationAuthority?: RegistrationAuthority
  /** When the record was created or last updated: UTC, with milliseconds and Z. */
  lastUpdatedDate?: string
}

/** What is needed to enter the occupation. */
export interface EntryRequirements {
  /** High-level description of the entry requirements, in New Zealand English. */
  entrySummaryEnglish?: string
  /** The same in te reo Māori, where available for Kaupapa Māori occupations. */
  entrySummaryMaori?: string
  /** What is needed to enter the occupation while in school, in New Zealand English. */
  entryInSchoolEnglish?: string
  /** The same in te reo Māori, where available for Kaupapa Māori occupations. */
  entryInSchoolMaori?: string
  /** Mandatory requirements, in New Zealand English. */
  entryYouNeedEnglish?: string[]
  /** The same in te reo Māori, where available for Kaupapa Māori occupations. */
  entryYouNeedMaori?: string[]
  /** What one may need, in New Zealand English. */
  entryYouMayNeedEnglish?: string[]
  /** The same in te reo Māori, where available for Kaupapa Māori occupations. */
  entryYouMayNeedMaori?: string[]
}

/** A minor group of an occupation, and how they are related. */
export interface MinorGroupRelation {
  /** How the minor group belongs to the occupation. */
  minorGroupRelationType?: 'Primary' | 'Secondary'
  /** A minor group. */
  minorGroup?: MinorGroup
}

/** A minor group. */
export interface MinorGroup {
  /** Unique identifier of the minor group. */
  code?: string
  /** Minor group name, in New Zealand English. */
  nameEnglish?: string
  /** Minor group name, in te reo Māori, where available for Kaupapa Māori occupations. */
  nameMaori?: string
  /** High-level description of the minor group, in New Zealand English. */
  descriptionEnglish?: string
  /** High-level description of the tasks of the minor group, in New Zealand English. */
  tasks?: string[]
  /** Major groups associated with the minor group. At most one is Primary. */
  majorGroups?: MajorGroupRelation[]
}

/** A major group of a minor group, and how they are related. */
export interface MajorGroupRelation {
  /** How the major group belongs to the minor group. */
  majorGroupRelationType?: 'Primary' | 'Secondary'
  /** A major group. */
  majorGroup?: MajorGroup
}

/** A major group. */
export interface MajorGroup {
  /** Unique identifier of the major group. */
  code?: string
  /** Major group name, in New Zealand English. */
  nameEnglish?: string
  /** Major group name, in te reo Māori, where available for Kaupapa Māori occupations. */
  nameMaori?: string
  /** High-level description of the major group, in New Zealand English. */
  descriptionEnglish?: string
}

/** Annual pay figures, each at least as high as the one before. (The name is spelled so.) */
export interface Renumeration {
  /** Tenth percentile of annual pay. */
  payLowerBound?: number
  /** First quartile of annual pay. */
  payMidLowerBound?: number
  /** Third quartile of annual pay. */
  payMidUpperBound?: number
  /** Ninetieth percentile of annual pay. */
  payUpperBound?: number
}

/** Who registers people in the occupation; present only where such an authority exists. */
export interface RegistrationAuthority {
  /** Authority name, in New Zealand English. */
  nameEnglish?: string
  /** Authority name, in te reo Māori; may not be commonly available. */
  nameMaori?: string
  /** E-mail address of the authority. */
  email?: string
  /** Phone number of the authority. */
  telephone?: string
  /** Website address of the authority. */
  websiteUrl?: string
}

/** A code that the catalogue does not have, and its successors. */
export interface MissingOccupation {
  /** The code, as it was sent. */
  occupationCode: string
  /** When it was removed; absent if the catalogue never had it. */
  removedDate?: string
  /** Its successors. */
  replacedBy?: string[]
}

/** Major and minor groups, by code. */
export interface OccupationGroups {
  /** The major groups. */
  majorGroups?: OccupationMajorGroup[]
  /** The minor groups. */
  minorGroups?: OccupationMinorGroup[]
}

/** A major group, with the number of its occupations. */
export interface OccupationMajorGroup {
  /** Unique identifier of the major group. */
  code?: string
  /** Major group name, in New Zealand English. */
  nameEnglish?: string
  /** Major group name, in te reo Māori, where available for Kaupapa Māori occupations. */
  nameMaori?: string
  /** High-level description of the major group, in New Zealand English. */
  descriptionEnglish?: string
  /** Occupations whose Primary group this is. */
  primaryCount?: number
  /** Occupations that belong to the group, Primary or Secondary. */
  totalCount?: number
}

/** A minor group, with the number of its occupations. */
export interface OccupationMinorGroup {
  /** Unique identifier of the minor group. */
  code?: string
  /** Minor group name, in New Zealand English. */
  nameEnglish?: string
  /** Minor group name, in te reo Māori, where available for Kaupapa Māori occupations. */
  nameMaori?: string
  /** High-level description of the minor group, in New Zealand English. */
  descriptionEnglish?: string
  /** High-level description of the tasks of the minor group, in New Zealand English. */
  tasks?: string[]
  /** The codes of its major groups, and how they are related. */
  majorGroups?: OccupationMajorGroupRelation[]
  /** Occupations whose Primary group this is. */
  primaryCount?: number
  /** Occupations that belong to the group, Primary or Secondary. */
  totalCount?: number
}

/** A page of changes of the catalogue. */
export interface OccupationChanges {
  /** The token of the next page; absent on the last page. */
  next?: string
  /** The token for later changes; present on the last page only. */
  delta?: string
  /** Number of records in the catalogue. */
  totalCount?: number
  /** Number of the revision; it goes back only after a restore from a backup. */
  revision?: number
  /**
   * SHA-256 of the catalogue's NDJSON at this revision, in base64, as in the NDJSON-Digest of its snapshot: a copy that
   * has applied the changes has the same. On the last page, unless the digest is still being computed.
   */
  digest?: string
  /** Each changed code, ordered by the revision that changed it. */
  changes?: OccupationChange[]
  /** Number of changes on this page. */
  resultsCount?: number
}

/** A code that was created, updated or removed. */
export interface OccupationChange {
  /** What happened to the code since the token. Store a created and an updated record alike. */
  change?: 'created' | 'updated' | 'removed'
  /** The code. */
  occupationCode?: string
  /** One occupation. A field without a value is absent. */
  record?: OccupationRecord
  /** When a removed code left the catalogue. */
  removedDate?: string
  /** The codes that succeed a removed one. */
  replacedBy?: string[]
}

/** The latest revisions of the catalogue. */
export interface OccupationRevisions {
  /** The revisions, newest first. */
  revisions?: OccupationRevision[]
}

/** A revision of the catalogue. */
export interface OccupationRevision {
  /** Number of the revision. */
  revision?: number
  /** When it was stored. */
  stored?: string
  /** The command that stored it, such as `import`. */
  command?: string
  /** The names of the imported files. */
  files?: string[]
  /** Records that were new. */
  created?: number
  /** Records that were changed. */
  updated?: number
  /** Records that were removed. */
  removed?: number
  /** Records in the catalogue. */
  totalCount?: number
  /** Whether its content is still kept: `HISTORY_DAYS` says for how long. */
  readable?: boolean
  /**
   * The currency, year and country of its amounts of pay, such as `NZD 2025, New Zealand`; absent if no import stated
   * them.
   */
  payBasis?: string
}

/** How two revisions of the catalogue differ. */
export interface OccupationDifferences {
  /** The later revision. */
  revision?: number
  /** The revision that it is compared with. */
  since?: number
  /** The records that differ, by code. */
  differences?: OccupationDifference[]
  /** Whether these are all of them: at most 200 are listed. */
  complete?: boolean
  /** The value of `After` that reads on; absent if these are all of them. */
  next?: string
}

/** A record that differs between two revisions. */
export interface OccupationDifference {
  /** The code. */
  occupationCode?: string
  /** One occupation. A field without a value is absent. */
  before?: OccupationRecord
  /** One occupation. A field without a value is absent. */
  after?: OccupationRecord
  /** The fields that differ, of a record that both revisions have. */
  fields?: FieldDifference[]
  /** The codes that succeed a removed one. */
  replacedBy?: string[]
}

/** A field that differs between two revisions. Lists are compared as a whole. */
export interface FieldDifference {
  /** The path of the field, such as `renumeration.payLowerBound`. */
  field?: string
  /** Its earlier value; absent if it had none. */
  before?: unknown
  /** Its later value; absent if it has none. */
  after?: unknown
}

/** A page of search results. */
export interface OccupationSearchPage {
  /** The query. */
  query?: string
  /** The query with its probable spelling; absent where the query needs none. */
  didYouMean?: string
  /** Number of matching occupations. */
  totalCount?: number
  /** The results, best first: occupations with the query as a name, then by score, then by code. */
  results?: OccupationMatch[]
  /** Number of matching occupations by major group, the largest first. */
  groups?: SearchGroupCount[]
}

/** An occupation that a search found. */
export interface OccupationMatch {
  /** Code of the occupation. */
  occupationCode?: string
  /** Title in New Zealand English. */
  titleEnglish?: string
  /** Title in te reo Māori. */
  titleMaori?: string
  /** The name of the occupation that matches the query best. */
  matchedName?: string
  /** The language of that name. */
  matchedLanguage?: 'en' | 'mi'
  /** Where the name comes from. A `searchOnly` name is in no record. */
  matchedField?: 'title' | 'pluralTitle' | 'alternativeTitle' | 'searchOnly'
  /** Where words of the query are in `matchedName`: pairs of a start and an exclusive end, in UTF-16 code units. */
  highlights?: number[][]
  /** The estimated probability that the query means this occupation. */
  score?: number
  /** The Primary major group of a found occupation. */
  group?: SearchGroup
}

/** The Primary major group of a found occupation. */
export interface SearchGroup {
  /** Code of the group. */
  code?: string
  /** Its name in New Zealand English. */
  nameEnglish?: string
}

/** A group and the number of its matching occupations. */
export interface SearchGroupCount {
  /** Code of the group. */
  code?: string
  /** Its name in New Zealand English. */
  nameEnglish?: string
  /** Matching occupations in the group. */
  count?: number
}

/** Names that complete a query. */
export interface OccupationSuggestions {
  /** The suggestions, best first. */
  suggestions?: OccupationSuggestion[]
}

/** A name that completes a query. */
export interface OccupationSuggestion {
  /** A name of an occupation. */
  text?: string
  /** Code of the occupation. */
  occupationCode?: string
  /** Title in New Zealand English. */
  titleEnglish?: string
  /** The language of the name. */
  language?: 'en' | 'mi'
  /** Where words of the query are in `text`: pairs of a start and an exclusive end, in UTF-16 code units. */
  highlights?: number[][]
}

/** Occupation codes of job titles. */
export interface Codings {
  /** A coding for each item, in the order of the request. */
  items?: Coding[]
}

/** The occupation code of a job title. */
export interface Coding {
  /** The ID of the item in the request. */
  id?: string
  /** The code, where it is more likely right than wrong. */
  code?: string
  /** The estimated probability that the first candidate is right. */
  certainty?: number
  /** The three likeliest occupations, best first. */
  candidates?: CodingCandidate[]
  /** The likeliest minor or major group, where there is no `code`. */
  group?: CodingGroup
  /** Why the item is not coded: its title is blank, or a text is too long. */
  error?: string
}

/** An occupation that a job title may mean. */
export interface CodingCandidate {
  /** Code of the occupation. */
  occupationCode?: string
  /** Title in New Zealand English. */
  titleEnglish?: string
  /** The estimated probability that it is right. */
  certainty?: number
}

/** The likeliest minor or major group, where there is no `code`. */
export interface CodingGroup {
  /** Code of the group. */
  code?: string
  /** Its name in New Zealand English. */
  nameEnglish?: string
  /** The estimated probability that it is right. */
  certainty?: number
}

/** Job titles, and what their reviewers have decided about them. */
export interface ReviewedCodings {
  /** The titles with all decisions about them. */
  items?: ReviewedCoding[]
}

/** A job title, and what its reviewers have decided about it. */
export interface ReviewedCoding {
  /** The ID of the title. */
  id?: string
  /** The job title. */
  title?: string
  /** The language of the title. */
  language?: 'en' | 'mi'
  /**
   * `confirmed`: all reviewers who know a code name the same one. `disputed`: they name several. `unknown`: nobody
   * knows one.
   */
  state?: 'confirmed' | 'disputed' | 'unknown'
  /** The confirmed code. */
  occupationCode?: string
  /** The decisions, by reviewer. */
  decisions?: CodingDecision[]
  /**
   * The codes of the decisions that are no longer in the catalogue; absent if it has all of them. A title whose
   * confirmed code is one of them is no name of the search: decide about it again.
   */
  missingCodes?: MissingOccupation[]
}

/** A reviewer's decision about a job title. */
export interface CodingDecision {
  /** Who decided: the client of the key. */
  reviewer?: string
  /** The code; absent if the reviewer knows none. */
  occupationCode?: string
  /** When the reviewer decided. */
  decidedDate?: string
}

/** A page of reviewed job titles. */
export interface ReviewedCodingPage {
  /** Where the next page starts; absent on the last page. */
  nextCursor?: string
  /** The titles with all decisions about them. */
  items?: ReviewedCoding[]
  /** Number of titles on this page. */
  resultsCount?: number
}

/** A page of the current validation results of a submission. */
export interface ValidationResultsPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** Validation entries, in the order they were published. */
  results?: ValidationEntry[]
  /** Total number of entries of the submission. */
  totalCount?: number
}

/** One error or warning about one record of a submitted file. */
export interface ValidationEntry {
  /** Identifier of the record concerned. */
  localId?: string
  /** Code of the validation finding. */
  errorCode?: string
  /** Description of the finding. */
  errorDescription?: string
  /** How severe the finding is. */
  errorType?: 'Error' | 'Warning'
  /** The submitted file that holds the record. */
  fileType?: 'Course' | 'Enrolment' | 'CourseCompletion' | 'QualificationCompletion' | 'Learner' | 'Unknown'
  /** Course code of the record. */
  courseCode?: string
  /** Student identifier of the record. */
  studentId?: string
  /** Text of the record concerned. */
  recordText?: string
}

/** What the current run of a submission found, by code. */
export interface ResultsSummary {
  /** The token of the submission. */
  submissionToken?: string
  /** The return of the submission. */
  returnId?: string
  /** The current run; absent before the first. */
  runId?: number
  /** Errors in all. */
  errorCount?: number
  /** Warnings in all. */
  warningCount?: number
  /** Entries that are stored. */
  totalCount?: number
  /** Whether not all findings are stored: `stored` of a code says how many are. */
  partial?: boolean
  definition?: SummaryDefinition
  /** Each code that was found, the most frequent first. */
  codes?: CodeSummary[]
  /** Checks that could not run. */
  notRun?: CheckNotRun[]
  /**
   * Checks that did not run for some records, because a value that they need is unknown, such as one that cannot be
   * read.
   */
  undecided?: ResultsSummaryUndecided[]
}

/** What to fix in a submission, in order. */
export interface ResultsCauses {
  /** The token of the submission. */
  submissionToken?: string
  /** The current run; absent before the first. */
  runId?: number
  /** Errors before warnings, causes before consequences, then by records. */
  causes?: Cause[]
  /** Why there are no causes although there are findings. */
  note?: string
}

/** What to fix, with the findings that disappear when it is fixed. */
export interface Cause {
  /** The same for the same cause in another run. */
  key: string
  /** What the cause is about. */
  kind: 'file' | 'column' | 'value' | 'reference' | 'record' | 'rule'
  /** Error if one of its findings is an error. */
  severity: 'Error' | 'Warning'
  /** Name of the file to fix. */
  file?: string
  /** The field to fix. */
  field?: string
  /** The value to fix. */
  value?: string
  /** The codes of its findings. */
  codes: string[]
  /** Its findings; every finding belongs to one cause. */
  findings?: number
  /** Records among its stored findings. */
  records?: number
  /** Different students among its stored findings. */
  learners?: number
  /** What is wrong. */
  sentence?: string
  /** What to do. */
  fix?: string
  /** The first of its findings. */
  example?: CauseExample
}

/** How the findings of the current run and the one before differ. */
export interface ResultsChanges {
  /** The run before. */
  from?: number
  /** The current run. */
  to?: number
  /** Findings that only the current run has. */
  newCount?: number
  /** Findings that only the run before had. */
  fixedCount?: number
  /** Findings that both runs have. */
  openCount?: number
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** New findings, then fixed, then open ones. */
  results?: ChangedEntry[]
  /** Findings that match. */
  totalCount?: number
  /** Whether not all findings of one of the runs are stored: what only one stores counts as new or fixed. */
  partial?: boolean
}

/** A page of findings with their places. */
export interface FindingsPage {
  /** The current run; absent before the first. */
  runId?: number
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The findings, in the order of the files and their records. */
  results?: Finding[]
  /** All stored findings that match. */
  totalCount?: number
  /**
   * The columns of the CSV files of this page, by which `recordText` can be split; those of a file that was replaced
   * after the check are missing.
   */
  columns?: FindingsPageColumns[]
}

export interface Finding {
  /** Identifier of the record concerned. */
  localId?: string
  /** Code of the validation finding. */
  errorCode?: string
  /** Description of the finding. */
  errorDescription?: string
  /** How severe the finding is. */
  errorType?: 'Error' | 'Warning'
  /** The submitted file that holds the record. */
  fileType?: 'Course' | 'Enrolment' | 'CourseCompletion' | 'QualificationCompletion' | 'Learner' | 'Unknown'
  /** Course code of the record. */
  courseCode?: string
  /** Student identifier of the record. */
  studentId?: string
  /** Text of the record concerned. */
  recordText?: string
  /** Name of the file that holds the record. */
  file?: string
  /** Line on which the record starts, from 1. */
  line?: number
  /** Field concerned. */
  field?: string
  /** Its value. */
  value?: string
  /** Identifies the finding in other runs. */
  findingKey?: string
  /** Key of the cause of the finding. */
  cause?: string
}

/** A page of the students with findings. */
export interface LearnersPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** Students, those with most findings first. */
  results?: LearnersPageResults[]
  /** Different students among the stored findings. */
  totalCount?: number
}

/** A submission. */
export interface Submission {
  /** The token of the submission. */
  submissionToken?: string
  /** When the submission can no longer be changed: it expires, or its return closes. */
  tokenExpiry?: string
  /**
   * Until when it can be changed after it was opened again; absent if it was not, or has been submitted since. The
   * receipt says why.
   */
  reopenedUntil?: string
  /** The return of the submission. */
  returnId?: string
  /** The name of the return; absent if the service has no such return. */
  returnName?: string
  /** Notes of the return for those who submit it. */
  notes?: string
  /** When the return is due. */
  dueDate?: string
  /** When the return closes. */
  closeWindowDate?: string
  /** The organisation of the submission. */
  eid?: string
  /** The definition that the submission is checked against. */
  definition?: string
  /** Full: all required files must be present. Indicative: some may be missing. */
  submissionType?: 'Full' | 'Indicative'
  /**
   * Pending: being built. Validating: a run is in progress. Validated: the current run covers the current files.
   * Submitted, Closed: no further changes are possible. Cancelled: its data was deleted.
   */
  submissionStatus?: 'Pending' | 'Validating' | 'Validated' | 'Submitted' | 'Cancelled' | 'Closed'
  /** The largest number of records in a batch. */
  maxRecordPerBatch?: number
  /** When the submission was created. */
  dateCreated?: string
  /** Its files. */
  files?: SubmissionFile[]
  /** A validation run of a submission. */
  validationRun?: ValidationRun
}

/** The current state of a file. */
export interface SubmissionFile {
  /** The kind of file. */
  fileType?: 'Course' | 'Enrolment' | 'CourseCompletion' | 'QualificationCompletion' | 'Learner' | 'Unknown'
  /** Its name in URLs, such as `course-completions`. */
  file?: string
  /** Records, not counting the header. */
  records?: number
  /** Uncompressed bytes of the uploaded file in UTF-8 and its batches. */
  bytes?: number
  /** SHA-256 of the uploaded file in UTF-8, in hexadecimal; absent once batches have changed it. */
  sha256?: string
  /** When the file was last changed. */
  received?: string
  /** Batches since the upload. */
  batches?: number
  /** What was guessed about the upload, such as its encoding, and a first line that is not the header of this file. */
  notes?: string[]
}

/** A validation run of a submission. */
export interface ValidationRun {
  /** Number of the run within its submission. */
  runId?: number
  /** The token of the submission. */
  submissionToken?: string
  /**
   * Queued, InProgress: the run has not ended. Processed: it has ended. Halted: it exceeded a limit. UnknownError: it
   * failed.
   */
  status?: 'Queued' | 'InProgress' | 'Processed' | 'Halted' | 'Cancelled' | 'UnknownError'
  /** When the run was requested. */
  dateReceived?: string
  /** When the run started. */
  dateStarted?: string
  /** When the run ended. */
  dateCompleted?: string
  /** Errors found, whether or not all of them are stored. */
  errorCount?: number
  /** Warnings found. */
  warningCount?: number
  /**
   * Checks that were stopped, and whose findings must be fixed or explained: until a run completes them, the submission
   * is refused. Absent if there are none.
   */
  stoppedCount?: number
  /** Stored findings. */
  totalCount?: number
  /** Whether not all findings are stored; the summary says of which codes. */
  partial?: boolean
  /** The progress of a run. */
  progress?: RunProgress
  /** Why the run failed. */
  reason?: string
  /** The files that the run reads, as they were when it was requested; absent from the run of a submission. */
  files?: ValidationRunFiles[]
  /** Whether the validation results come from this run. */
  current?: boolean
}

/** A page of an organisation's submissions. */
export interface SubmissionPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The entries, newest first. */
  results?: Submission[]
  /** All entries. */
  totalCount?: number
}

/** A submitted submission and its receipt. */
export interface SubmittedSubmission {
  /** The token of the submission. */
  submissionToken?: string
  /** When the submission can no longer be changed: it expires, or its return closes. */
  tokenExpiry?: string
  /**
   * Until when it can be changed after it was opened again; absent if it was not, or has been submitted since. The
   * receipt says why.
   */
  reopenedUntil?: string
  /** The return of the submission. */
  returnId?: string
  /** The name of the return; absent if the service has no such return. */
  returnName?: string
  /** Notes of the return for those who submit it. */
  notes?: string
  /** When the return is due. */
  dueDate?: string
  /** When the return closes. */
  closeWindowDate?: string
  /** The organisation of the submission. */
  eid?: string
  /** The definition that the submission is checked against. */
  definition?: string
  /** Full: all required files must be present. Indicative: some may be missing. */
  submissionType?: 'Full' | 'Indicative'
  /**
   * Pending: being built. Validating: a run is in progress. Validated: the current run covers the current files.
   * Submitted, Closed: no further changes are possible. Cancelled: its data was deleted.
   */
  submissionStatus?: 'Pending' | 'Validating' | 'Validated' | 'Submitted' | 'Cancelled' | 'Closed'
  /** The largest number of records in a batch. */
  maxRecordPerBatch?: number
  /** When the submission was created. */
  dateCreated?: string
  /** Its files. */
  files?: SubmissionFile[]
  /** A validation run of a submission. */
  validationRun?: ValidationRun
  /** What was submitted, by whom and when. */
  receipt?: Receipt
}

/** What was submitted, by whom and when. */
export interface Receipt {
  /**
   * Number of the receipt: the first one of the organisation for the return has 1, and each later one, of the same
   * submission after a reopening or of another submission, one more.
   */
  receipt?: number
  /** The token of the submission. */
  submissionToken?: string
  /** The organisation. */
  eid?: string
  /** The return. */
  returnId?: string
  /** Its name, if the service knows it. */
  returnName?: string
  /** Full or Indicative. */
  submissionType?: 'Full' | 'Indicative'
  /** When it was submitted. */
  dateSubmitted?: string
  /** Who did it. */
  submittedBy?: Actor
  /** What the submission means. */
  statement?: string
  definition?: ReceiptDefinition
  /** The run that covers the files. */
  runId?: number
  /** When that run ended. */
  dateChecked?: string
  /** Errors that it found. */
  errorCount?: number
  /** Warnings that it found. */
  warningCount?: number
  /** Checks that could not run. */
  notRun?: CheckNotRun[]
  /** The submitted files. */
  files?: ReceiptFiles[]
  /** Why its warnings are right. */
  explanations?: Explanation[]
  /** The earlier submission of the organisation for the same return. */
  replaces?: ReceiptReplaces
  /** When the submission was opened again; absent if it was not. */
  dateReopened?: string
  /** Who did it. */
  reopenedBy?: Actor
  /** Why it was opened again. */
  reopenReason?: string
  /** The receipts before this one, oldest first. */
  earlier?: ReceiptEarlier[]
}

/** Who did it. */
export interface Actor {
  /** The public id of the credential; `service` or `command` for Mahi itself and its operator. */
  id?: string
  /** The name that the identity provider gives, or the client that holds the credential. */
  name?: string
}

/** Why warnings are right. */
export interface Explanation {
  /** The code or the key of the cause. */
  target?: string
  /** What it explains. */
  kind?: 'code' | 'cause'
  /** The codes of the findings. */
  codes?: string[]
  /**
   * Verified: the records were checked and are right. Agreed: the exception was agreed with the agency. Later: what is
   * missing follows in a later return. Other: the text says why.
   */
  reason?: 'Verified' | 'Agreed' | 'Later' | 'Other'
  /** The reason in words. */
  text?: string
  /**
   * Explained: it holds for the current run. Reopened: the current run has too many more findings. NoFindings: the
   * current run has none.
   */
  state?: 'Explained' | 'Reopened' | 'NoFindings'
  /** Findings of the current run. */
  findings?: number
  /** Findings that it was given for. */
  explainedFindings?: number
  /** Why it no longer holds. */
  reopened?: string
  /** The run that it was given for. */
  runId?: number
  /** Who did it. */
  actor?: Actor
  /** When it was given. */
  time?: string
}

/** A page of what was done with a submission. */
export interface ActivityPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The activities, newest first. */
  results?: Activity[]
  /** All activities. */
  totalCount?: number
}

/** Something that was done with a submission. */
export interface Activity {
  /** When it was done. */
  time?: string
  /**
   * What was done. RecordsChanged and Downloaded stand for all similar ones of the same minute. Expired: what is kept
   * no longer was deleted. Purged: nothing of the data of a deleted submission is left in the database.
   */
  event?: 'Created' | 'FileUploaded' | 'FileRepaired' | 'RepairUndone' | 'RecordsChanged' | 'CheckRequested' | 'CheckCancelled' | 'Checked' | 'Explained' | 'ExplanationWithdrawn' | 'Submitted' | 'Reopened' | 'Deleted' | 'Downloaded' | 'Expired' | 'Purged'
  /** Who did it. */
  actor?: Actor
  /** The file, as in URLs; `findings`, `marked-files` or `corrected-files` for a download of those. */
  file?: string
  /** The validation run. */
  runId?: number
  /** Records of the file that was uploaded, repaired or restored. */
  records?: number
  /** Changes of a repair in the file. */
  changes?: number
  /** SHA-256 of the file before a repair or its undoing, in hexadecimal. */
  digestBefore?: string
  /** SHA-256 of the file after it. */
  digestAfter?: string
  /** Errors that the run found. */
  errorCount?: number
  /** Warnings that the run found. */
  warningCount?: number
  /** Checks that were stopped, and that the submission needs. */
  stoppedCount?: number
  /** Explanations that the run reopened, because it found more than they explain. */
  reopened?: number
  /** The codes that were explained. */
  codes?: string[]
  /** The reason of an explanation, or why the submission was reopened. */
  reason?: string
  /** The number of the receipt. */
  receipt?: number
  /** Until when a reopened submission can be changed. */
  until?: string
  /** Files that were deleted. */
  files?: number
  /** Findings that were deleted. */
  findings?: number
}

/** The explanations of a submission, and the warnings that still need one. */
export interface ExplanationList {
  /** The token of the submission. */
  submissionToken?: string
  /** The current run; absent before the first. */
  runId?: number
  /** The explanations, oldest first. */
  explanations?: Explanation[]
  /** Warnings that must be explained before the submission. */
  open?: ExplanationListOpen[]
}

/** A page of returns. */
export interface ReturnPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The returns, the one that opens last first. */
  results?: OwnReturn[]
  /** All returns that can be listed this way. */
  totalCount?: number
}

/** A return, and, unless an operator lists all, how far an organisation is with it. */
export interface OwnReturn {
  /** The return. */
  returnId?: string
  /** Its name for people. */
  name?: string
  /** The definition that it is checked against. */
  definition?: string
  /** The version of the definition when the return was described. */
  definitionVersion?: string
  /** Full: all required files must be present. Indicative: some may be missing. */
  returnType?: 'Full' | 'Indicative'
  /** When it opens. */
  openWindowDate?: string
  /** When it is due. */
  dueDate?: string
  /** When it closes: from then on, nothing is accepted. */
  closeWindowDate?: string
  /** Overdue: due, but still open. */
  window?: 'NotOpen' | 'Open' | 'Overdue' | 'Closed'
  /** The time zone of its dates, for showing them. */
  timeZone?: string
  /** Notes for those who submit it. */
  notes?: string
  /** The organisation. */
  eid?: string
  /**
   * NotStarted: no files. FilesReceived: no run covers the files. Validating: a run is in progress. HasErrors, Ready:
   * the run that covers the files found errors, or none. Incomplete: it found none, but a check was stopped whose
   * findings must be fixed or explained. Submitted: frozen. Reopened: the agency has opened it again, and it has not
   * been submitted since.
   */
  returnStatus?: 'NotStarted' | 'FilesReceived' | 'Validating' | 'HasErrors' | 'Incomplete' | 'Ready' | 'Submitted' | 'Reopened'
  /** The submission that counts: the submitted one, or else the last one. */
  submissionToken?: string
  /** Errors that the run found which covers its files. */
  errorCount?: number
  /** Warnings that it found. */
  warningCount?: number
  /** When the submission was created. */
  dateCreated?: string
  /** When somebody last changed the submission. */
  dateLastActivity?: string
  /** When it was last submitted. */
  dateSubmitted?: string
  /** Until when it can be changed after it was opened again; absent unless it is Reopened. */
  reopenedUntil?: string
  /** Why it was opened again. */
  reopenReason?: string
}

/** How far all organisations are with a return. */
export interface ReturnOverview {
  /** A return that the service collects, for the agency. */
  return?: Return
  /** The number of organisations by status. */
  statuses?: ReturnOverviewStatuses
  /** What changed. */
  changes?: ReturnOverviewChanges
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The organisations, by EID. */
  results?: ReturnOverviewResults[]
  /** Organisations that are expected to submit, or have started to, with the status that was asked for. */
  totalCount?: number
}

/** A return that the service collects, for the agency. */
export interface Return {
  /** The return. */
  returnId?: string
  /** Its name for people. */
  name?: string
  /** The definition that it is checked against. */
  definition?: string
  /** The version of the definition when the return was described. */
  definitionVersion?: string
  /** Full: all required files must be present. Indicative: some may be missing. */
  returnType?: 'Full' | 'Indicative'
  /** When it opens. */
  openWindowDate?: string
  /** When it is due. */
  dueDate?: string
  /** When it closes: from then on, nothing is accepted. */
  closeWindowDate?: string
  /** Overdue: due, but still open. */
  window?: 'NotOpen' | 'Open' | 'Overdue' | 'Closed'
  /** The time zone of its dates, for showing them. */
  timeZone?: string
  /** Notes for those who submit it. */
  notes?: string
  /** The organisations that are expected to submit it; absent if all are. */
  organisations?: string[]
  /** Identifies this state of the return. Send it as If-Match to replace the return. */
  etag?: string
}

/** What the organisations have to fix in a return: counts only, no values. */
export interface ReturnCauses {
  /** The return. */
  returnId?: string
  /** Those of most organisations first; at most 100. */
  causes?: ReturnCausesCauses[]
}

/** The files of an archive or a workbook. */
export interface SubmissionFiles {
  /** The files that were replaced, in the order of the definition. */
  files?: SubmissionFile[]
}

/** Work with the files of a submission. */
export interface FileWork {
  /** Identifies the work within its submission. */
  jobId?: string
  /** The token of the submission. */
  submissionToken?: string
  /**
   * upload: what arrived is read. repair: the files are repaired. preview: what a repair would change is found out.
   * workbook, marked, corrected: copies of the files are made. csv, ndjson: a file is rendered in this format.
   */
  work?: 'upload' | 'repair' | 'preview' | 'workbook' | 'marked' | 'corrected' | 'csv' | 'ndjson'
  /** The only file that it is about. */
  file?: string
  /**
   * Queued, InProgress: the work has not ended. Processed: it has. Halted, Cancelled, UnknownError: it has no result,
   * for `reason`.
   */
  status?: 'Queued' | 'InProgress' | 'Processed' | 'Halted' | 'Cancelled' | 'UnknownError'
  /** When it was requested. */
  dateReceived?: string
  /** When it ended, or its result was last used. */
  dateCompleted?: string
  /** Why it has no result. */
  reason?: string
  /** Changes that a repair has made. */
  changes?: number
  /** The files that an upload or a repair has replaced. */
  files?: SubmissionFile[]
}

/** What a repair changes in the files of a submission. */
export interface Repairs {
  /** The token of the submission. */
  submissionToken?: string
  /** The number of changes; 0 if nothing has only one possible repair. */
  changes?: number
  /** The changes by kind. */
  repairs?: Repair[]
  /** What is left as it is, because it is not certain. */
  left?: Repair[]
  /** The causes of the current check; absent if it did not read the current files. */
  causes?: number
  /** The keys of those causes that disappear with the repair. */
  clears?: string[]
  /** The causes that a check of the repaired files finds. */
  causesLeft?: number
  /** Identifies the state of the files, as `ETag` does. Send it as If-Match. */
  etag?: string
  /** Whether the last repair can be undone: the files have not changed since. */
  undoable?: boolean
  /** The files that were repaired. */
  files?: SubmissionFile[]
}

/** Changes of one kind in one file. */
export interface Repair {
  /** The file, as in URLs. */
  file?: string
  /** The field; absent for rows and for the file as a whole. */
  field?: string
  /** Why the change is certain, or why what is left is not. */
  why?: string
  /**
   * How many values, names of columns, rows or files it is about. Of a field in `left`, only the values that would have
   * a repair if the reason did not hold: others of the column may be as wrong.
   */
  records?: number
  /** The first changes that differ, three at most. */
  examples?: RepairExample[]
  /** The keys of those causes of its field that disappear with the repair. */
  clears?: string[]
}

/** A change of a repair. */
export interface RepairExample {
  /** The line of the record before the repair, from 1; absent for the file as a whole. */
  line?: number
  /** The value, the name of the column, or the row before. */
  before?: string
  /** The same after; empty for a row that is removed. */
  after?: string
}

/** The result of a batch. */
export interface BatchResult {
  /** The token of the submission. */
  submissionToken?: string
  /** The records of the batch, in order. */
  content?: RecordAcknowledgement[]
}

/** The stored runs of a submission. */
export interface ValidationRunPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The entries, newest first. */
  results?: ValidationRun[]
  /** All entries. */
  totalCount?: number
}

/** All checks of a definition. */
export interface RuleCatalogue {
  /** The definition. */
  definition?: CatalogueDefinition
  /** The names of the definitions of this service. */
  definitions?: string[]
  /** Its checks, in the order of the findings. */
  rules?: Rule[]
}

/** A check of a definition. */
export interface Rule {
  /** The `errorCode` of its findings. */
  code?: string
  /** `Error` or `Warning`. */
  severity?: string
  /** The file, as in URLs. */
  file?: string
  /** The `fileType` of its findings. */
  fileType?: string
  /** The fields concerned. */
  fields?: string[]
  /** The kind of check. */
  kind?: string
  /** The finding in one sentence; `{field}` is replaced by a value of the record. */
  message?: string
  /** Why it matters. */
  why?: string
  /** What to do about it. */
  fix?: string
  /** URL of the source. */
  source?: string
  /** The publisher's own number. */
  replaces?: string
  /** `stated`, `inferred` or `own`. */
  basis?: string
  /** The first day on which it applies. */
  since?: string
  /** The last day on which it applies. */
  until?: string
  /** `active`, `draft` or `retired`. */
  status?: string
  /** Whether its findings must be explained before the submission; absent if not. */
  needsExplanation?: boolean
}

/** A check, and the definition that has it. */
export interface RuleOfDefinition {
  /** The `errorCode` of its findings. */
  code?: string
  /** `Error` or `Warning`. */
  severity?: string
  /** The file, as in URLs. */
  file?: string
  /** The `fileType` of its findings. */
  fileType?: string
  /** The fields concerned. */
  fields?: string[]
  /** The kind of check. */
  kind?: string
  /** The finding in one sentence; `{field}` is replaced by a value of the record. */
  message?: string
  /** Why it matters. */
  why?: string
  /** What to do about it. */
  fix?: string
  /** URL of the source. */
  source?: string
  /** The publisher's own number. */
  replaces?: string
  /** `stated`, `inferred` or `own`. */
  basis?: string
  /** The first day on which it applies. */
  since?: string
  /** The last day on which it applies. */
  until?: string
  /** `active`, `draft` or `retired`. */
  status?: string
  /** Whether its findings must be explained before the submission; absent if not. */
  needsExplanation?: boolean
  /** The query of a rule in SQL. */
  sql?: string
  /** The examples of a rule in SQL. */
  examples?: RuleExample[]
  /** The definition. */
  definition?: RuleDefinition
}

/** The credential of a request. */
export interface Caller {
  /** The public id of the credential. */
  id?: string
  /** The client that holds the credential. */
  clientId?: string
  /** The scopes of the credential. */
  scopes?: string[]
  /** The organisations that it covers. */
  eids?: string[]
  /** Those of them that the operator has suspended. */
  suspended?: string[]
  /** When it expires. */
  expires?: string
  /** The rate limits that apply to it, as the header RateLimit describes them. */
  limits?: CallerLimit[]
}

/** What an operator sees at a glance. */
export interface Overview {
  /** The version of the service. */
  version?: string
  /** The URL of the database, without its password. */
  database?: string
  /** Submissions by status. */
  submissions?: Record<string, number>
  /** Validation runs by status. */
  runs?: Record<string, number>
  /** The queue. */
  jobs?: OverviewJobs[]
  /** All keys. */
  keys?: OverviewKey[]
  /** Valid keys that expire within 30 days and that no other key replaces, without those of sessions. */
  expiringKeys?: number
  /** Refused credentials by reason, since this process started. */
  refusals?: Record<string, number>
}

/** The queued jobs of one kind. */
export interface OverviewJobs {
  /** The kind of job. */
  kind?: string
  /** Jobs that are due and that no worker holds. */
  waiting?: number
  /** Jobs that workers hold. */
  running?: number
  /** When the longest waiting job was queued. */
  oldest?: string
}

/** An API key, without its secret. */
export interface OverviewKey {
  /** The public part of the key. */
  id?: string
  /** The client that holds it. */
  client?: string
  /** Its scopes. */
  scopes?: string[]
  /** The organisations that it may act for. */
  eids?: string[]
  /** When it was created. */
  created?: string
  /** When it expires. */
  expires?: string
  /** When it was revoked. */
  revoked?: string
  /** When it was last used, to about a minute; absent if it never was. */
  used?: string
}

/** A page of organisations. */
export interface OrganisationPage {
  /** Page number of this page, from 1. */
  page?: number
  /** Page size of this page. */
  pageSize?: number
  /** The organisations, in the order of their identifiers. */
  results?: Organisation[]
  /** The number of known organisations. */
  totalCount?: number
}

/** An organisation that a key covers, that has submissions, or that is suspended. */
export interface Organisation {
  /** The identifier of the organisation. */
  eid?: string
  /** Whether requests for its data are refused. */
  state?: 'Active' | 'Suspended'
  /** When it was suspended. */
  suspended?: string
  /** The note of the operator who suspended it. The organisation does not see it. */
  reason?: string
  /** Valid API keys that cover it. */
  keys?: number
  /** Stored submissions. */
  submissions?: number
  /** Bytes of the stored files. */
  fileBytes?: number
  /** Stored validation runs. */
  runs?: number
  /** Runs that are queued or in progress. */
  activeRuns?: number
  /** Findings of the stored runs. */
  findings?: number
}

/** An error (RFC 9457) with the members of every kind of problem. */
export interface AnyProblem {
  /** The kind of problem: a relative reference to a page that explains it. */
  type?: string
  /** A short summary of the kind of problem. */
  title?: string
  /** The HTTP status, repeated. */
  status?: number
  /** What is wrong with this request, and what is allowed. */
  detail?: string
  /** `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log. */
  instance?: string
  /** When the occupation was removed. */
  removedDate?: string
  /** The codes that succeed it. */
  replacedBy?: string[]
  /** Codes that resemble the given one. */
  similarCodes?: string[]
  /** For each invalid value, by its name, what is wrong with it. */
  errors?: Record<string, string[]>
  /** The return that the submission belongs to. */
  returnId?: string
  /** The token of the submission. */
  submissionToken?: string
  /** The parameters as received. */
  content?: Record<string, string>
  /** A code of the public documentation, where one fits: such as `DS1`. */
  errorCode?: string
}

/** Which occupations to list. Filters combine with AND. */
export interface OccupationsQuery {
  /** Number of records per page, from 1 to 100. A larger number is refused, never clamped. */
  limit?: number | undefined
  /**
   * Where the page starts: the first occupation code at or after this one. Usually the `nextCursor` of the page before.
   */
  cursor?: string | undefined
  /** Only records of this major group: those with a minor group, Primary or Secondary, that belongs to it. */
  majorGroupCode?: string | undefined
  /** Only records of this minor group, Primary or Secondary. */
  minorGroupCode?: string | undefined
  /**
   * How the records belong to the groups of the group filters: `Any`, or only `Primary`: the Primary minor group, and
   * its Primary major group.
   */
  groupRelation?: 'Primary' | 'Any' | undefined
  /**
   * Only the records with these codes: up to 100, comma-separated. Without `Limit`, the page has all of them.
   * `missingCodes` lists those that the catalogue does not have.
   */
  codes?: readonly string[] | undefined
  /** The fields that each record shows, comma-separated; all of them where it is absent. */
  fields?: readonly ('occupationCode' | 'titleEnglish' | 'titleMaori' | 'titlePluralEnglish' | 'titlePluralMaori' | 'altJobTitlesEnglish' | 'altJobTitlesMaori' | 'descriptionEnglish' | 'descriptionMaori' | 'kaupapaDescriptionEnglish' | 'kaupapaDescriptionMaori' | 'detailedWorkActivitiesEnglish' | 'detailedWorkActivitiesMaori' | 'trainingDuration' | 'lifeOnTheJobEnglish' | 'lifeOnTheJobMaori' | 'entryRequirements' | 'minorGroups' | 'renumeration' | 'registrationAuthority' | 'lastUpdatedDate')[] | undefined
  /** Only records last updated after this time, exclusive. RFC 3339; UTC where no offset is given. */
  lastUpdatedAfter?: Date | string | undefined
  /** Only records last updated before this time, exclusive. RFC 3339; UTC where no offset is given. */
  lastUpdatedBefore?: Date | string | undefined
}

/** Which changes to list. */
export interface ChangesQuery {
  /**
   * The `delta` of an earlier response or the Delta-Token of a snapshot; or the `next` of the page before. `latest`
   * returns only the token of the current state. Without it, every record is returned as created.
   */
  since?: string | undefined
  /** Number of changes per page, from 1 to 100. A larger number is refused, never clamped. */
  limit?: number | undefined
}

/** What to search for. */
export interface SearchQuery {
  /**
   * The words to search for. Macrons, umlauts, upper case and spelling mistakes do not matter. Without words, nothing
   * is found.
   */
  q?: string | undefined
  /** Only names in this language: `en` or `mi`. Both where absent. */
  lang?: 'en' | 'mi' | undefined
  /** Only occupations of this major group. */
  majorGroupCode?: string | undefined
  /** Only occupations of this minor group. */
  minorGroupCode?: string | undefined
  /** Whether the groups of the filters may be Secondary groups of an occupation. */
  groupRelation?: 'Any' | 'Primary' | undefined
  /** Number of results per page. */
  limit?: number | undefined
  /** Number of the page. */
  page?: number | undefined
}

/** What to complete. */
export interface SuggestionsQuery {
  /**
   * The words to search for. Macrons, umlauts, upper case and spelling mistakes do not matter. Without words, nothing
   * is found.
   */
  q?: string | undefined
  /** Only names in this language: `en` or `mi`. Both where absent. */
  lang?: 'en' | 'mi' | undefined
  /** Number of suggestions. */
  limit?: number | undefined
}

/** Job titles to code. */
export interface CodingsQuery {
  /** The job titles to code. */
  items: readonly TitleToCode[]
}

/** What a reviewer has decided about job titles. */
export interface CodingDecisions {
  /** The decisions. */
  items: readonly TitleDecision[]
}

/** Which reviewed titles to list. */
export interface ConfirmedCodingsQuery {
  /** Number of titles per page, from 1 to 300. */
  limit?: number | undefined
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined
  /** Only titles in this state. */
  state?: 'confirmed' | 'disputed' | 'unknown' | undefined
}

/** Which page of the validation results to get. Filters combine with AND. */
export interface ResultsQuery {
  /** Page number, from 1. A page past the last one is refused; page 1 always exists. */
  page?: number | undefined
  /** Entries per page, from 1 to 1000. A larger number is refused, never clamped. */
  pageSize?: number | undefined
  /** Only entries of this type. */
  errorType?: 'Error' | 'Warning' | undefined
  /** Only entries of this file. */
  fileType?: 'Course' | 'Enrolment' | 'CourseCompletion' | 'QualificationCompletion' | 'Learner' | 'Unknown' | undefined
  /** Only entries with this code. */
  errorCode?: string | undefined
  /** Only entries about this student. */
  studentId?: string | undefined
  /** Only entries about this course. */
  courseCode?: string | undefined
}

/** Which findings of a comparison to get. */
export interface ChangesBetweenRuns {
  /** Only findings with this status. */
  status?: 'new' | 'fixed' | 'open' | undefined
  /** Page number, from 1. */
  page?: number | undefined
  /** Findings per page, from 1 to 1000. */
  pageSize?: number | undefined
}

/** Which findings to list. */
export interface FindingsQuery {
  /** Page number, from 1. A page past the last one is refused; page 1 always exists. */
  page?: number | undefined
  /** Entries per page, from 1 to 1000. A larger number is refused, never clamped. */
  pageSize?: number | undefined
  /** Only entries of this type. */
  errorType?: 'Error' | 'Warning' | undefined
  /** Only entries of this file. */
  fileType?: 'Course' | 'Enrolment' | 'CourseCompletion' | 'QualificationCompletion' | 'Learner' | 'Unknown' | undefined
  /** Only entries with this code. */
  errorCode?: string | undefined
  /** Only entries about this student. */
  studentId?: string | undefined
  /** Only entries about this course. */
  courseCode?: string | undefined
  /** Only findings of the cause with this key. */
  cause?: string | undefined
  /** Only findings that the run before did not have. */
  onlyNew?: boolean | undefined
}

/** What to create a submission for. */
export interface NewSubmission {
  /** The return, such as 202512. Its form depends on the definition. */
  returnId: string
  /** The definition to check against; defaults to the first one of the service. */
  definition?: string | undefined
  /** Defaults to `Full`. */
  type?: 'Full' | 'Indicative' | undefined
}

/** Why warnings are right. */
export interface NewExplanation {
  /**
   * Verified: the records were checked and are right. Agreed: the exception was agreed with the agency. Later: what is
   * missing follows in a later return. Other: the text says why.
   */
  reason: 'Verified' | 'Agreed' | 'Later' | 'Other'
  /** The reason in words; required for Other. */
  text?: string | undefined
}

/** Why a submission is opened again. */
export interface NewReopening {
  /** Why, for the organisation. It is shown in the receipt and in the activities. */
  reason: string
  /**
   * Until when the submission can be changed, whether its return closes before or after that (RFC 3339); defaults to
   * seven days from now, or to when its return closes if that is later.
   */
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
  /** Full (default): all required files must be present. Indicative: some may be missing. */
  type?: 'Full' | 'Indicative' | undefined
  /**
   * When it opens. A date, a local time such as `2026-01-31 17:00` in the time zone of the service, or a date-time with
   * an offset.
   */
  opens: string
  /**
   * When it is due; by default when it closes. A date, a local time such as `2026-01-31 17:00` in the time zone of the
   * service, or a date-time with an offset.
   */
  due?: string | undefined
  /**
   * When it closes. A date, a local time such as `2026-01-31 17:00` in the time zone of the service, or a date-time
   * with an offset.
   */
  closes: string
  /** The organisations that are expected to submit it; all if it is absent. */
  organisations?: readonly string[] | undefined
  /** Notes for those who submit it. */
  notes?: string | undefined
}

/** Records to add, or to replace. */
export interface NewRecords {
  /** Records, each with its `localId` and its fields. */
  content: readonly SubmittedRecord[]
}

/** Records to delete. */
export interface RecordDeletion {
  /** The records to delete. */
  content: readonly DeletedRecord[]
}

/** Why an organisation is suspended. */
export interface Suspension {
  /** A note for operators, without personal data. */
  reason?: string | undefined
}

/** The code of a major group of a minor group, and how they are related. */
export interface OccupationMajorGroupRelation {
  /** How the major group belongs to the minor group. */
  majorGroupRelationType?: 'Primary' | 'Secondary'
  /** The code of the major group. */
  majorGroupCode?: string
}

export interface SummaryDefinition {
  /** Name of the definition. */
  name?: string
  /** Its version. */
  version?: string
  /** The data that it describes. */
  title?: string
  /** A notice that reports show. */
  notice?: string
}

export interface CodeSummary {
  /** The code. */
  errorCode?: string
  /** Error or Warning. */
  errorType?: string
  /** The file: Course, Enrolment, CourseCompletion, QualificationCompletion, Learner, Unknown. */
  fileType?: string
  /** How often it was found; exact. */
  count?: number
  /** How many of those are stored, where not all are. */
  stored?: number
  /** Its findings for each record in the files of its `fileType`; more than 1 if records have several. */
  share?: number
  /** Different students. */
  students?: number
  /** One error or warning about one record of a submitted file. */
  first?: ValidationEntry
}

export interface CheckNotRun {
  /** The code. */
  errorCode?: string
  /** Why it did not run. */
  reason?: string
  /**
   * Whether the submission is refused because of it: the check was stopped, and what it finds must be fixed or
   * explained.
   */
  blocks?: boolean
}

export interface ResultsSummaryUndecided {
  /** The code. */
  errorCode?: string
  /** The file of the field. */
  file?: string
  /** The field whose value is unknown. */
  field?: string
  /** Records for which the check did not run. */
  records?: number
}

/** The first of its findings. */
export interface CauseExample {
  /** Name of the file. */
  file?: string
  /** Line on which the record starts, from 1. */
  line?: number
  /** The field. */
  field?: string
  /** Its value. */
  value?: string
  /** Description of the finding. */
  description?: string
}

/** A finding, and whether it is new, fixed or open. */
export interface ChangedEntry {
  /** Identifier of the record concerned. */
  localId?: string
  /** Code of the validation finding. */
  errorCode?: string
  /** Description of the finding. */
  errorDescription?: string
  /** How severe the finding is. */
  errorType?: 'Error' | 'Warning'
  /** The submitted file that holds the record. */
  fileType?: 'Course' | 'Enrolment' | 'CourseCompletion' | 'QualificationCompletion' | 'Learner' | 'Unknown'
  /** Course code of the record. */
  courseCode?: string
  /** Student identifier of the record. */
  studentId?: string
  /** Text of the record concerned. */
  recordText?: string
  /** Name of the file that holds the record. */
  file?: string
  /** Line on which the record starts, from 1. */
  line?: number
  /** Field concerned. */
  field?: string
  /** Its value. */
  value?: string
  /** Identifies the finding in other runs. */
  findingKey?: string
  /** Key of the cause of the finding. */
  cause?: string
  /** Whether only the current run, only the run before or both have the finding. */
  status?: 'new' | 'fixed' | 'open'
}

export interface FindingsPageColumns {
  /** The kind of file. */
  fileType: string
  /** Its name, as in its findings. */
  file: string
  /** The names in its header row. */
  columns: string[]
}

export interface LearnersPageResults {
  /** The student. */
  studentId?: string
  /** Stored findings about the student. */
  findings?: number
}

/** The progress of a run. */
export interface RunProgress {
  /** The current step. */
  stage?: string
  /** Records read. */
  done?: number
  /** All records. */
  total?: number
  /** The progress of each file. */
  files?: RunProgressFiles[]
}

export interface ValidationRunFiles {
  /** The file, such as `learners`. */
  file?: string
  /** Its records. */
  records?: number
  /** SHA-256 of the uploaded file, as in the submission; absent once batches had changed it. */
  sha256?: string
  /** Batches since the upload. */
  batches?: number
}

export interface ReceiptDefinition {
  /** Name of the definition. */
  name?: string
  /** Its version. */
  version?: string
  /** The data that it describes. */
  title?: string
}

export interface ReceiptFiles {
  /** The kind of file. */
  fileType?: string
  /** Its name in URLs. */
  file?: string
  /** Records, not counting the header. */
  records?: number
  /** Bytes of the file in UTF-8. */
  bytes?: number
  /** SHA-256 of the file in UTF-8, in hexadecimal. */
  sha256?: string
}

/** The earlier submission of the organisation for the same return. */
export interface ReceiptReplaces {
  /** Its token. */
  submissionToken?: string
  /** When it was submitted. */
  dateSubmitted?: string
}

export interface ReceiptEarlier {
  /** Its number. */
  receipt?: number
  /** When it was submitted. */
  dateSubmitted?: string
  /** Who did it. */
  submittedBy?: Actor
  /** When the submission was opened again; absent if it was not. */
  dateReopened?: string
  /** Who did it. */
  reopenedBy?: Actor
  /** Why it was opened again. */
  reopenReason?: string
}

export interface ExplanationListOpen {
  /** The code. */
  code?: string
  /** Findings of the current run. */
  findings?: number
  /** Findings that its explanation was given for, if it no longer holds. */
  explainedFindings?: number
}

/** The number of organisations by status. */
export interface ReturnOverviewStatuses {
  /** Organisations with NotStarted. */
  NotStarted?: number
  /** Organisations with FilesReceived. */
  FilesReceived?: number
  /** Organisations with Validating. */
  Validating?: number
  /** Organisations with HasErrors. */
  HasErrors?: number
  /** Organisations with Incomplete. */
  Incomplete?: number
  /** Organisations with Ready. */
  Ready?: number
  /** Organisations with Submitted. */
  Submitted?: number
  /** Organisations with Reopened. */
  Reopened?: number
}

/** What changed. */
export interface ReturnOverviewChanges {
  /** Since when. */
  since?: string
  /** Submissions that were created. */
  started?: number
  /** Submissions that were submitted. */
  submitted?: number
  /** Submissions that were opened again. */
  reopened?: number
  /** Submissions that were deleted. */
  deleted?: number
  /** The organisations that did anything. */
  eids?: string[]
}

/** How far an organisation is with a return. */
export interface ReturnOverviewResults {
  /** The organisation. */
  eid?: string
  /** When the organisation was suspended; absent if it is not. */
  suspended?: string
  /**
   * NotStarted: no files. FilesReceived: no run covers the files. Validating: a run is in progress. HasErrors, Ready:
   * the run that covers the files found errors, or none. Incomplete: it found none, but a check was stopped whose
   * findings must be fixed or explained. Submitted: frozen. Reopened: the agency has opened it again, and it has not
   * been submitted since.
   */
  returnStatus?: 'NotStarted' | 'FilesReceived' | 'Validating' | 'HasErrors' | 'Incomplete' | 'Ready' | 'Submitted' | 'Reopened'
  /** The submission that counts: the submitted one, or else the last one. */
  submissionToken?: string
  /** Errors that the run found which covers its files. */
  errorCount?: number
  /** Warnings that it found. */
  warningCount?: number
  /** When the submission was created. */
  dateCreated?: string
  /** When somebody last changed the submission. */
  dateLastActivity?: string
  /** When it was last submitted. */
  dateSubmitted?: string
  /** Until when it can be changed after it was opened again; absent unless it is Reopened. */
  reopenedUntil?: string
  /** Why it was opened again. */
  reopenReason?: string
}

export interface ReturnCausesCauses {
  /** What the causes are about, as in the causes of a submission. */
  kind?: string
  /** `Error` or `Warning`. */
  severity?: string
  /** The code of their findings; of several codes, the first by name. */
  code?: string
  /** The file. */
  file?: string
  /** The field; empty if they are about several. */
  field?: string
  /** What is wrong, without values. */
  sentence?: string
  /** The most columns that one of them is about. */
  columns?: number
  /** Organisations that have them. */
  organisations?: number
  /** Causes in all. */
  causes?: number
  /** Findings in all. */
  findings?: number
  /** Records in all. */
  records?: number
}

export interface RecordAcknowledgement {
  /** Identifier of the record. */
  localId?: string
  /** Why it was not accepted. */
  errors?: string[]
}

/** The definition. */
export interface CatalogueDefinition {
  /** Name of the definition. */
  name?: string
  /** Its version. */
  version?: string
  /** The data that it describes. */
  title?: string
  /** A notice that reports show. */
  notice?: string
  /** Its files. */
  files?: DefinedFile[]
}

/** Records, and which of them the rule finds. */
export interface RuleExample {
  /** What it shows. */
  name?: string
  /** Records of each file. */
  files?: ExampleFile[]
  /** The positions, from 1, of the records that the rule finds. */
  finds?: number[]
}

/** The definition. */
export interface RuleDefinition {
  /** Name of the definition. */
  name?: string
  /** Its version. */
  version?: string
  /** The data that it describes. */
  title?: string
  /** A notice that reports show. */
  notice?: string
  /** Its files. */
  files?: DefinedFile[]
}

export interface CallerLimit {
  /** What the limit counts, as in the header RateLimit. */
  name?: string
  /** Requests in each window. */
  requests?: number
  /** Length of a window. */
  seconds?: number
  /** Requests left in this window. */
  remaining?: number
  /** Seconds until this window ends. */
  reset?: number
}

export interface TitleToCode {
  /** Repeated in the response. */
  id?: string | undefined
  /**
   * The job title. An item whose title is blank or longer than 300 characters, or with a task of more than 1000, gets
   * an `error` instead of a code.
   */
  title?: string | undefined
  /** Tasks of the job. */
  tasks?: readonly string[] | undefined
}

export interface TitleDecision {
  /** The job title, in one line. */
  title: string
  /** The code of the occupation that it means; absent if the reviewer knows none. */
  occupationCode?: string | undefined
  /** The language of the title: `en`, if absent, or `mi`. */
  language?: 'en' | 'mi' | undefined
}

export interface SubmittedRecord {
  /** An identifier of the record, chosen by the caller. */
  localId: string
  [field: string]: unknown
}

export interface DeletedRecord {
  /** An identifier of the record, chosen by the caller. */
  localId: string
}

export interface RunProgressFiles {
  /** The file, such as `learners`. */
  file?: string
  /** Records read of it. */
  done?: number
  /** All of its records. */
  total?: number
}

/** A file that a definition describes. */
export interface DefinedFile {
  /** The file, as in URLs. */
  file?: string
  /** Its file type, as in findings. */
  fileType?: string
  /** Its name for people. */
  title?: string
  /** Names by which it is recognised. */
  fileNames?: string[]
}

/** Records of a file. */
export interface ExampleFile {
  /** The file, as in URLs. */
  file?: string
  /** The names of its columns. */
  columns?: string[]
  /** Its records: a value for each column. */
  rows?: string[][]
}
