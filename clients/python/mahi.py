"""A client of a Mahi service: the occupation catalogue, and submissions with their validation results.

It needs Python 3.9 or later and nothing else. Each operation of the service is a method of `Client`, with its
parameters in snake_case; what it returns is the JSON of the response as dictionaries, whose types are below. Every
failure is a `MahiError`.

    from mahi import Client

    client = Client("https://mahi.example.org", api_key=key, eid="9999")
    for occupation in client.occupations():
        print(occupation["occupationCode"], occupation["titleEnglish"])
"""

from __future__ import annotations

import email.utils
import http.client
import json
import os
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypedDict, Union

if TYPE_CHECKING:
    from typing import Literal

__all__ = ["Client", "MahiError"]

#: Seconds that a call may take, with its retries, unless the client says otherwise.
DEADLINE = 30.0

#: The longest response that is read at once, in bytes: a page of 100 records of 1 MiB each fits.
LONGEST_RESPONSE = 128 * 1024 * 1024

#: Seconds that one request waits for a run: the most that the service allows.
WAIT = 30

Content = Union[bytes, str, "os.PathLike[str]", BinaryIO]
"""The content of a file: bytes, a path, or a file that is open for reading bytes."""


class MahiError(Exception):
    """Why a call failed.

    If the service responded with a problem (RFC 9457), `status` is its status and `problem` the whole of it.
    Otherwise `status` is None: no complete response arrived, or the response is not from the service.
    """

    def __init__(self, message: str, *, status: Optional[int] = None, problem: Optional[Mapping[str, Any]] = None,
                 retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        #: The HTTP status, if there was a response.
        self.status = status
        #: The members of the problem, such as `errors` with what is wrong with each parameter.
        self.problem: Dict[str, Any] = dict(problem or {})
        #: Seconds to wait before the next request, if the response says so (429 and 503).
        self.retry_after = retry_after

    @property
    def error_code(self) -> Optional[str]:
        """The code of the public documentation, such as `PR2` for a page past the last one."""
        return self.problem.get("errorCode")


# --- types: written by clients/python/generate.ts ---


class Problem(TypedDict, total=False):
    """An error (RFC 9457)."""

    #: The kind of problem: a relative reference to a page that explains it.
    type: str
    #: A short summary of the kind of problem.
    title: str
    #: The HTTP status, repeated.
    status: int
    #: What is wrong with this request, and what is allowed.
    detail: str
    #: `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log.
    instance: str


class SubmissionProblem(TypedDict, total=False):
    """An error of an operation on a submission, with a code where one fits."""

    #: The kind of problem: a relative reference to a page that explains it.
    type: str
    #: A short summary of the kind of problem.
    title: str
    #: The HTTP status, repeated.
    status: int
    #: What is wrong with this request, and what is allowed.
    detail: str
    #: `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log.
    instance: str
    #: A code of the public documentation, where one fits: such as `DS1`.
    errorCode: str


class OccupationPage(TypedDict, total=False):
    """A page of the occupation catalogue."""

    #: The first occupation code of the next page; absent on the last page.
    nextCursor: str
    #: The first occupation code of this page; absent on an empty page.
    currentCursor: str
    #: Number of records that match the filters, whatever the cursor.
    totalCount: int
    #: The records of this page, by occupation code.
    data: List[OccupationRecord]
    #: Number of records on this page.
    resultsCount: int
    #: The codes in `Filter.Codes` that the catalogue does not have; absent if it has all of them.
    missingCodes: List[MissingOccupation]


class MissingOccupation(TypedDict, total=False):
    """A code that the catalogue does not have, and its successors."""

    #: The code, as it was sent.
    occupationCode: str
    #: When it was removed; absent if the catalogue never had it.
    removedDate: str
    #: Its successors.
    replacedBy: List[str]


class OccupationRecord(TypedDict, total=False):
    """One occupation. A field without a value is absent."""

    #: Code that uniquely identifies the occupation.
    occupationCode: str
    #: Title in New Zealand English.
    titleEnglish: str
    #: Title in te reo Māori.
    titleMaori: str
    #: Plural of the title, in New Zealand English.
    titlePluralEnglish: str
    #: Plural of the title, in te reo Māori.
    titlePluralMaori: str
    #: Up to seven alternative titles or official-statistics synonyms, in New Zealand English.
    altJobTitlesEnglish: List[str]
    #: Up to seven alternative titles or synonyms, in te reo Māori, where available for Kaupapa Māori occupations.
    altJobTitlesMaori: List[str]
    #: Summary of the occupation, in New Zealand English.
    descriptionEnglish: str
    #: Summary of the occupation, in te reo Māori, where available for Kaupapa Māori occupations.
    descriptionMaori: str
    #: The Kaupapa summary, in New Zealand English, where available for Kaupapa Māori occupations.
    kaupapaDescriptionEnglish: str
    #: The Kaupapa summary, in te reo Māori, where available for Kaupapa Māori occupations.
    kaupapaDescriptionMaori: str
    #: Tasks of the occupation, in New Zealand English.
    detailedWorkActivitiesEnglish: List[str]
    #: Tasks of the occupation, in te reo Māori, where available for Kaupapa Māori occupations.
    detailedWorkActivitiesMaori: List[str]
    #: How long someone needs to train for the occupation.
    trainingDuration: str
    #: Day-to-day life in the occupation (working hours, locations, travel, conditions, physical or emotional demands,
    #: personal attributes), in New Zealand English.
    lifeOnTheJobEnglish: List[str]
    #: The same in te reo Māori, where available for Kaupapa Māori occupations.
    lifeOnTheJobMaori: List[str]
    entryRequirements: EntryRequirements
    #: Minor groups the occupation belongs to. At most one is Primary.
    minorGroups: List[MinorGroupRelation]
    renumeration: Renumeration
    registrationAuthority: RegistrationAuthority
    #: When the record was created or last updated: UTC, with milliseconds and Z.
    lastUpdatedDate: str


class MinorGroupRelation(TypedDict, total=False):
    """A minor group of an occupation, and how they are related."""

    #: How the minor group belongs to the occupation.
    minorGroupRelationType: Literal["Primary", "Secondary"]
    minorGroup: MinorGroup


class MinorGroup(TypedDict, total=False):
    """A minor group."""

    #: Unique identifier of the minor group.
    code: str
    #: Minor group name, in New Zealand English.
    nameEnglish: str
    #: Minor group name, in te reo Māori, where available for Kaupapa Māori occupations.
    nameMaori: str
    #: High-level description of the minor group, in New Zealand English.
    descriptionEnglish: str
    #: High-level description of the tasks of the minor group, in New Zealand English.
    tasks: List[str]
    #: Major groups associated with the minor group. At most one is Primary.
    majorGroups: List[MajorGroupRelation]


class MajorGroupRelation(TypedDict, total=False):
    """A major group of a minor group, and how they are related."""

    #: How the major group belongs to the minor group.
    majorGroupRelationType: Literal["Primary", "Secondary"]
    majorGroup: MajorGroup


class MajorGroup(TypedDict, total=False):
    """A major group."""

    #: Unique identifier of the major group.
    code: str
    #: Major group name, in New Zealand English.
    nameEnglish: str
    #: Major group name, in te reo Māori, where available for Kaupapa Māori occupations.
    nameMaori: str
    #: High-level description of the major group, in New Zealand English.
    descriptionEnglish: str


class EntryRequirements(TypedDict, total=False):
    """What is needed to enter the occupation."""

    #: High-level description of the entry requirements, in New Zealand English.
    entrySummaryEnglish: str
    #: The same in te reo Māori, where available for Kaupapa Māori occupations.
    entrySummaryMaori: str
    #: What is needed to enter the occupation while in school, in New Zealand English.
    entryInSchoolEnglish: str
    #: The same in te reo Māori, where available for Kaupapa Māori occupations.
    entryInSchoolMaori: str
    #: Mandatory requirements, in New Zealand English.
    entryYouNeedEnglish: List[str]
    #: The same in te reo Māori, where available for Kaupapa Māori occupations.
    entryYouNeedMaori: List[str]
    #: What one may need, in New Zealand English.
    entryYouMayNeedEnglish: List[str]
    #: The same in te reo Māori, where available for Kaupapa Māori occupations.
    entryYouMayNeedMaori: List[str]


class Renumeration(TypedDict, total=False):
    """Annual pay figures, each at least as high as the one before. (The name is spelled so.)"""

    #: Tenth percentile of annual pay.
    payLowerBound: float
    #: First quartile of annual pay.
    payMidLowerBound: float
    #: Third quartile of annual pay.
    payMidUpperBound: float
    #: Ninetieth percentile of annual pay.
    payUpperBound: float


class RegistrationAuthority(TypedDict, total=False):
    """Who registers people in the occupation; present only where such an authority exists."""

    #: Authority name, in New Zealand English.
    nameEnglish: str
    #: Authority name, in te reo Māori; may not be commonly available.
    nameMaori: str
    #: E-mail address of the authority.
    email: str
    #: Phone number of the authority.
    telephone: str
    #: Website address of the authority.
    websiteUrl: str


class SimilarCodesProblem(TypedDict, total=False):
    """A code that does not exist, and codes that resemble it."""

    #: The kind of problem: a relative reference to a page that explains it.
    type: str
    #: A short summary of the kind of problem.
    title: str
    #: The HTTP status, repeated.
    status: int
    #: What is wrong with this request, and what is allowed.
    detail: str
    #: `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log.
    instance: str
    #: Codes that resemble the given one.
    similarCodes: List[str]


class RemovedOccupationProblem(TypedDict, total=False):
    """An occupation that was removed, and its successors."""

    #: The kind of problem: a relative reference to a page that explains it.
    type: str
    #: A short summary of the kind of problem.
    title: str
    #: The HTTP status, repeated.
    status: int
    #: What is wrong with this request, and what is allowed.
    detail: str
    #: `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log.
    instance: str
    #: When the occupation was removed.
    removedDate: str
    #: The codes that succeed it.
    replacedBy: List[str]


class OccupationMajorGroup(TypedDict, total=False):
    """A major group, with the number of its occupations."""

    #: Unique identifier of the major group.
    code: str
    #: Major group name, in New Zealand English.
    nameEnglish: str
    #: Major group name, in te reo Māori.
    nameMaori: str
    #: High-level description of the major group, in New Zealand English.
    descriptionEnglish: str
    #: Occupations whose Primary group this is.
    primaryCount: int
    #: Occupations that belong to the group, Primary or Secondary.
    totalCount: int


class OccupationMinorGroup(TypedDict, total=False):
    """A minor group, with the number of its occupations."""

    #: Unique identifier of the minor group.
    code: str
    #: Minor group name, in New Zealand English.
    nameEnglish: str
    #: Minor group name, in te reo Māori.
    nameMaori: str
    #: High-level description of the minor group, in New Zealand English.
    descriptionEnglish: str
    #: Tasks of the minor group.
    tasks: List[str]
    #: The codes of its major groups, and how they are related.
    majorGroups: List[Dict[str, Any]]
    #: Occupations whose Primary group this is.
    primaryCount: int
    #: Occupations that belong to the group, Primary or Secondary.
    totalCount: int


class OccupationGroups(TypedDict, total=False):
    """Major and minor groups, by code."""

    #: The major groups.
    majorGroups: List[OccupationMajorGroup]
    #: The minor groups.
    minorGroups: List[OccupationMinorGroup]


class OccupationChange(TypedDict, total=False):
    """A code that was created, updated or removed."""

    #: What happened to the code since the token. Store a created and an updated record alike.
    change: Literal["created", "updated", "removed"]
    #: The code.
    occupationCode: str
    record: OccupationRecord
    #: When a removed code left the catalogue.
    removedDate: str
    #: The codes that succeed a removed one.
    replacedBy: List[str]


class OccupationChanges(TypedDict, total=False):
    """A page of changes of the catalogue."""

    #: The token of the next page; absent on the last page.
    next: str
    #: The token for later changes; present on the last page only.
    delta: str
    #: Number of records in the catalogue.
    totalCount: int
    #: Number of the revision; it goes back only after a restore from a backup.
    revision: int
    #: SHA-256 of the catalogue's NDJSON at this revision, in base64, as in the NDJSON-Digest of its snapshot: a copy
    #: that has applied the changes has the same. On the last page, unless the digest is still being computed.
    digest: str
    #: Each changed code, ordered by the revision that changed it.
    changes: List[OccupationChange]
    #: Number of changes on this page.
    resultsCount: int


class OccupationRevision(TypedDict, total=False):
    """A revision of the catalogue."""

    #: Number of the revision.
    revision: int
    #: When it was stored; absent if that was not recorded.
    stored: str
    #: The command that stored it, such as `import`.
    command: str
    #: The names of the imported files.
    files: List[str]
    #: Records that were new.
    created: int
    #: Records that were changed.
    updated: int
    #: Records that were removed.
    removed: int
    #: Records in the catalogue.
    totalCount: int
    #: Whether its content is still kept: `HISTORY_DAYS` says for how long.
    readable: bool


class OccupationRevisions(TypedDict, total=False):
    """The latest revisions of the catalogue."""

    #: The revisions, newest first.
    revisions: List[OccupationRevision]


class FieldDifference(TypedDict, total=False):
    """A field that differs between two revisions. Lists are compared as a whole."""

    #: The path of the field, such as `renumeration.payLowerBound`.
    field: str
    #: Its earlier value; absent if it had none.
    before: Any
    #: Its later value; absent if it has none.
    after: Any


class OccupationDifference(TypedDict, total=False):
    """A record that differs between two revisions."""

    #: The code.
    occupationCode: str
    before: OccupationRecord
    after: OccupationRecord
    #: The fields that differ, of a record that both revisions have.
    fields: List[FieldDifference]
    #: The codes that succeed a removed one.
    replacedBy: List[str]


class OccupationDifferences(TypedDict, total=False):
    """How two revisions of the catalogue differ."""

    #: The later revision.
    revision: int
    #: The revision that it is compared with.
    since: int
    #: The records that differ, by code.
    differences: List[OccupationDifference]
    #: Whether these are all of them: at most 200 are listed.
    complete: bool
    #: The value of `After` that reads on; absent if these are all of them.
    next: str


class SearchGroup(TypedDict, total=False):
    """The Primary major group of a found occupation."""

    #: Code of the group.
    code: str
    #: Its name in New Zealand English.
    nameEnglish: str


class SearchGroupCount(TypedDict, total=False):
    """A group and the number of its matching occupations."""

    #: Code of the group.
    code: str
    #: Its name in New Zealand English.
    nameEnglish: str
    #: Matching occupations in the group.
    count: int


class OccupationMatch(TypedDict, total=False):
    """An occupation that a search found."""

    #: Code of the occupation.
    occupationCode: str
    #: Title in New Zealand English.
    titleEnglish: str
    #: Title in te reo Māori.
    titleMaori: str
    #: The name of the occupation that matches the query best.
    matchedName: str
    #: The language of that name.
    matchedLanguage: Literal["en", "mi"]
    #: Where the name comes from. A `searchOnly` name is in no record.
    matchedField: Literal["title", "pluralTitle", "alternativeTitle", "searchOnly"]
    #: Where words of the query are in `matchedName`: pairs of a start and an exclusive end, in UTF-16 code units.
    highlights: List[List[int]]
    #: The estimated probability that the query means this occupation.
    score: float
    group: SearchGroup


class OccupationSearchPage(TypedDict, total=False):
    """A page of search results."""

    #: The query.
    query: str
    #: The query with its probable spelling; absent where the query needs none.
    didYouMean: str
    #: Number of matching occupations.
    totalCount: int
    #: The results, best first: occupations with the query as a name, then by score, then by code.
    results: List[OccupationMatch]
    #: Number of matching occupations by major group, the largest first.
    groups: List[SearchGroupCount]


class OccupationSuggestion(TypedDict, total=False):
    """A name that completes a query."""

    #: A name of an occupation.
    text: str
    #: Code of the occupation.
    occupationCode: str
    #: Title in New Zealand English.
    titleEnglish: str
    #: The language of the name.
    language: Literal["en", "mi"]
    #: Where words of the query are in `text`: pairs of a start and an exclusive end, in UTF-16 code units.
    highlights: List[List[int]]


class OccupationSuggestions(TypedDict, total=False):
    """Names that complete a query."""

    #: The suggestions, best first.
    suggestions: List[OccupationSuggestion]


class CodingCandidate(TypedDict, total=False):
    """An occupation that a job title may mean."""

    #: Code of the occupation.
    occupationCode: str
    #: Title in New Zealand English.
    titleEnglish: str
    #: The estimated probability that it is right.
    certainty: float


class CodingGroup(TypedDict, total=False):
    """The likeliest minor or major group, where there is no `code`."""

    #: Code of the group.
    code: str
    #: Its name in New Zealand English.
    nameEnglish: str
    #: The estimated probability that it is right.
    certainty: float


class Coding(TypedDict, total=False):
    """The occupation code of a job title."""

    #: The ID of the item in the request.
    id: str
    #: The code, where it is more likely right than wrong.
    code: str
    #: The estimated probability that the first candidate is right.
    certainty: float
    #: The three likeliest occupations, best first.
    candidates: List[CodingCandidate]
    group: CodingGroup
    #: Why the item is not coded: its title is blank or too long.
    error: str


class Codings(TypedDict, total=False):
    """Occupation codes of job titles."""

    #: A coding for each item, in the order of the request.
    items: List[Coding]


class CodingDecision(TypedDict, total=False):
    """A reviewer's decision about a job title."""

    #: Who decided: the client of the key.
    reviewer: str
    #: The code; absent if the reviewer knows none.
    occupationCode: str
    #: When the reviewer decided.
    decidedDate: str


class ReviewedCoding(TypedDict, total=False):
    """A job title, and what its reviewers have decided about it."""

    #: The ID of the title.
    id: str
    #: The job title.
    title: str
    #: The language of the title.
    language: Literal["en", "mi"]
    #: `confirmed`: all reviewers who know a code name the same one. `disputed`: they name several. `unknown`: nobody
    #: knows one.
    state: Literal["confirmed", "disputed", "unknown"]
    #: The confirmed code.
    occupationCode: str
    #: The decisions, by reviewer.
    decisions: List[CodingDecision]
    #: The codes of the decisions that are no longer in the catalogue; absent if it has all of them. A title whose
    #: confirmed code is one of them is no name of the search: decide about it again.
    missingCodes: List[MissingOccupation]


class ReviewedCodings(TypedDict, total=False):
    """Job titles, and what their reviewers have decided about them."""

    #: The titles with all decisions about them.
    items: List[ReviewedCoding]


class ReviewedCodingPage(TypedDict, total=False):
    """A page of reviewed job titles."""

    #: Where the next page starts; absent on the last page.
    nextCursor: str
    #: The titles with all decisions about them.
    items: List[ReviewedCoding]
    #: Number of titles on this page.
    resultsCount: int


class ResultsProblem(TypedDict, total=False):
    """An error in the pagination parameters."""

    #: The kind of problem: a relative reference to a page that explains it.
    type: str
    #: A short summary of the kind of problem.
    title: str
    #: The HTTP status, repeated.
    status: int
    #: What is wrong with this request, and what is allowed.
    detail: str
    #: `urn:uuid:` and the ID of the request, which is also in X-Request-Id and in the log.
    instance: str
    #: For each invalid parameter, what is wrong with it.
    errors: Dict[str, List[str]]
    #: The return that the submission belongs to.
    returnId: str
    #: The token of the submission.
    submissionToken: str
    #: The parameters as received.
    content: Dict[str, str]
    #: `PR1`: a parameter is invalid. `PR2`: the page is past the last one.
    errorCode: str


class ValidationEntry(TypedDict, total=False):
    """One error or warning about one record of a submitted file."""

    #: Identifier of the record concerned.
    localId: str
    #: Code of the validation finding.
    errorCode: str
    #: Description of the finding.
    errorDescription: str
    #: How severe the finding is.
    errorType: Literal["Error", "Warning"]
    #: The submitted file that holds the record.
    fileType: Literal["Course", "Enrolment", "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]
    #: Course code of the record.
    courseCode: str
    #: Student identifier of the record.
    studentId: str
    #: Text of the record concerned.
    recordText: str


class ValidationResultsPage(TypedDict, total=False):
    """A page of the current validation results of a submission."""

    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: Validation entries, in the order they were published.
    results: List[ValidationEntry]
    #: Total number of entries of the submission.
    totalCount: int


class ResultsSummary(TypedDict, total=False):
    """What the current run of a submission found, by code."""

    #: The token of the submission.
    submissionToken: str
    #: The return of the submission.
    returnId: str
    #: The current run; absent before the first.
    runId: int
    #: Errors in all.
    errorCount: int
    #: Warnings in all.
    warningCount: int
    #: Entries that are stored.
    totalCount: int
    #: Whether not all findings are stored: `stored` of a code says how many are.
    partial: bool
    definition: Dict[str, Any]
    #: Each code that was found, the most frequent first.
    codes: List[Dict[str, Any]]
    #: Checks that could not run.
    notRun: List[Dict[str, Any]]
    #: Checks that did not run for some records, because a value that they need is unknown, such as one that cannot be
    #: read.
    undecided: List[Dict[str, Any]]


class Cause(TypedDict, total=False):
    """What to fix, with the findings that disappear when it is fixed."""

    #: The same for the same cause in another run.
    key: str
    #: What the cause is about.
    kind: Literal["file", "column", "value", "reference", "record", "rule"]
    #: Error if one of its findings is an error.
    severity: Literal["Error", "Warning"]
    #: Name of the file of its first finding.
    file: str
    #: The field to fix.
    field: str
    #: The value to fix.
    value: str
    #: The codes of its findings.
    codes: List[str]
    #: Its findings; every finding belongs to one cause.
    findings: int
    #: Records among its stored findings.
    records: int
    #: Different students among its stored findings.
    learners: int
    #: What is wrong.
    sentence: str
    #: What to do.
    fix: str
    #: The first of its findings.
    example: Dict[str, Any]


class ResultsCauses(TypedDict, total=False):
    """What to fix in a submission, in order."""

    #: The token of the submission.
    submissionToken: str
    #: The current run; absent before the first.
    runId: int
    #: Errors before warnings, causes before consequences, then by records. Absent if the findings were published
    #: without causes.
    causes: List[Cause]


#: How the findings of two runs differ.
ResultsChanges = TypedDict("ResultsChanges", {
    #: The earlier run.
    "from": "int",
    #: The later run.
    "to": "int",
    #: Findings that only the later run has.
    "newCount": "int",
    #: Findings that only the earlier run has.
    "fixedCount": "int",
    #: Findings that both runs have.
    "openCount": "int",
    #: Page number of this page, from 1.
    "page": "int",
    #: Page size of this page.
    "pageSize": "int",
    #: New findings, then fixed, then open ones.
    "results": "List[Dict[str, Any]]",
    #: Findings that match.
    "totalCount": "int",
    #: Whether not all findings of one of the runs are stored: what only one stores counts as new or fixed. Of a run
    #: before the last two, no findings are stored: `fixedCount` counts them, and `results` lacks them.
    "partial": "bool",
}, total=False)


class Finding(TypedDict, total=False):
    """"""

    #: Identifier of the record concerned.
    localId: str
    #: Code of the validation finding.
    errorCode: str
    #: Description of the finding.
    errorDescription: str
    #: How severe the finding is.
    errorType: Literal["Error", "Warning"]
    #: The submitted file that holds the record.
    fileType: Literal["Course", "Enrolment", "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]
    #: Course code of the record.
    courseCode: str
    #: Student identifier of the record.
    studentId: str
    #: Text of the record concerned.
    recordText: str
    #: Name of the file that holds the record.
    file: str
    #: Line on which the record starts, from 1.
    line: int
    #: Field concerned.
    field: str
    #: Its value.
    value: str
    #: Identifies the finding in other runs.
    findingKey: str
    #: Key of the cause of the finding.
    cause: str


class FindingsPage(TypedDict, total=False):
    """A page of findings with their places."""

    #: The current run; absent before the first.
    runId: int
    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: The findings, in the order of the files and their records.
    results: List[Finding]
    #: All stored findings that match.
    totalCount: int
    #: The columns of the CSV files of this page, by which `recordText` can be split; those of a file that was
    #: replaced after the check are missing.
    columns: List[Dict[str, Any]]


class LearnersPage(TypedDict, total=False):
    """A page of the students with findings."""

    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: Students, those with most findings first.
    results: List[Dict[str, Any]]
    #: Different students among the stored findings.
    totalCount: int


class Submission(TypedDict, total=False):
    """A submission."""

    #: The token of the submission.
    submissionToken: str
    #: When the submission can no longer be changed: it expires, or its return closes.
    tokenExpiry: str
    #: Until when it can be changed after it was opened again; absent if it was not, or has been submitted since. The
    #: receipt says why.
    reopenedUntil: str
    #: The return of the submission.
    returnId: str
    #: The name of the return; absent if the service has no such return.
    returnName: str
    #: Notes of the return for those who submit it.
    notes: str
    #: When the return is due.
    dueDate: str
    #: The organisation of the submission.
    eid: str
    #: The definition that the submission is checked against.
    definition: str
    #: Full: all required files must be present. Indicative: some may be missing.
    submissionType: Literal["Full", "Indicative"]
    #: Pending: being built. Validating: a run is in progress. Validated: the current run covers the current files.
    #: Submitted, Closed: no further changes are possible. Cancelled: its data was deleted.
    submissionStatus: Literal["Pending", "Validating", "Validated", "Submitted", "Cancelled", "Closed"]
    #: The largest number of records in a batch.
    maxRecordPerBatch: int
    #: When the submission was created.
    dateCreated: str
    #: Its files.
    files: List[SubmissionFile]
    validationRun: ValidationRun


class SubmissionFile(TypedDict, total=False):
    """The current state of a file."""

    #: The kind of file.
    fileType: Literal["Course", "Enrolment", "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]
    #: Its name in URLs, such as `course-completions`.
    file: str
    #: Records, not counting the header.
    records: int
    #: Uncompressed bytes of the uploaded file in UTF-8 and its batches.
    bytes: int
    #: SHA-256 of the uploaded file in UTF-8, in hexadecimal; absent once batches have changed it.
    sha256: str
    #: When the file was last changed.
    received: str
    #: Batches since the upload.
    batches: int
    #: What was guessed about the upload, such as its encoding, and a first line that is not the header of this file.
    notes: List[str]


class ValidationRun(TypedDict, total=False):
    """A validation run of a submission."""

    #: Number of the run within its submission.
    runId: int
    #: The token of the submission.
    submissionToken: str
    #: Queued, InProgress: the run has not ended. Processed: it has ended. Halted: it exceeded a limit. UnknownError:
    #: it failed.
    status: Literal["Queued", "InProgress", "Processed", "Halted", "Cancelled", "UnknownError"]
    #: When the run was requested.
    dateReceived: str
    #: When the run started.
    dateStarted: str
    #: When the run ended.
    dateCompleted: str
    #: Errors found, whether or not all of them are stored.
    errorCount: int
    #: Warnings found.
    warningCount: int
    #: Checks that were stopped, and whose findings must be fixed or explained: until a run completes them, the
    #: submission is refused. Absent if there are none.
    stoppedCount: int
    #: Stored findings.
    totalCount: int
    #: Whether not all findings are stored; the summary says of which codes.
    partial: bool
    #: The progress of a run.
    progress: Dict[str, Any]
    #: Why the run failed.
    reason: str
    #: The files that the run reads, as they were when it was requested; absent from the run of a submission.
    files: List[Dict[str, Any]]
    #: Whether the validation results come from this run.
    current: bool


class SubmissionPage(TypedDict, total=False):
    """A page of an organisation's submissions."""

    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: The entries, newest first.
    results: List[Submission]
    #: All entries.
    totalCount: int


class Actor(TypedDict, total=False):
    """Who did it."""

    #: The public id of the credential; `service` or `command` for Mahi itself and its operator.
    id: str
    #: The name that the identity provider gives, or the client that holds the credential.
    name: str


class Explanation(TypedDict, total=False):
    """Why warnings are right."""

    #: The code or the key of the cause.
    target: str
    #: What it explains.
    kind: Literal["code", "cause"]
    #: The codes of the findings.
    codes: List[str]
    #: Verified: the records were checked and are right. Agreed: the exception was agreed with the agency. Later: what
    #: is missing follows in a later return. Other: the text says why.
    reason: Literal["Verified", "Agreed", "Later", "Other"]
    #: The reason in words.
    text: str
    #: Explained: it holds for the current run. Reopened: the current run has too many more findings. NoFindings: the
    #: current run has none.
    state: Literal["Explained", "Reopened", "NoFindings"]
    #: Findings of the current run.
    findings: int
    #: Findings that it was given for.
    explainedFindings: int
    #: Why it no longer holds.
    reopened: str
    #: The run that it was given for.
    runId: int
    actor: Actor
    #: When it was given.
    time: str


class Receipt(TypedDict, total=False):
    """What was submitted, by whom and when."""

    #: Number of the receipt: the first one of the organisation for the return has 1, and each later one, of the same
    #: submission after a reopening or of another submission, one more.
    receipt: int
    #: The token of the submission.
    submissionToken: str
    #: The organisation.
    eid: str
    #: The return.
    returnId: str
    #: Its name, if the service knows it.
    returnName: str
    #: Full or Indicative.
    submissionType: Literal["Full", "Indicative"]
    #: When it was submitted.
    dateSubmitted: str
    submittedBy: Actor
    #: What the submission means.
    statement: str
    definition: Dict[str, Any]
    #: The run that covers the files.
    runId: int
    #: When that run ended.
    dateChecked: str
    #: Errors that it found.
    errorCount: int
    #: Warnings that it found.
    warningCount: int
    #: Checks that could not run.
    notRun: List[Dict[str, Any]]
    #: The submitted files.
    files: List[Dict[str, Any]]
    #: Why its warnings are right.
    explanations: List[Explanation]
    #: The earlier submission of the organisation for the same return.
    replaces: Dict[str, Any]
    #: When the submission was opened again; absent if it was not.
    dateReopened: str
    reopenedBy: Actor
    #: Why it was opened again.
    reopenReason: str
    #: The receipts before this one, oldest first.
    earlier: List[Dict[str, Any]]


class SubmittedSubmission(TypedDict, total=False):
    """A submitted submission and its receipt."""

    #: The token of the submission.
    submissionToken: str
    #: When the submission can no longer be changed: it expires, or its return closes.
    tokenExpiry: str
    #: Until when it can be changed after it was opened again; absent if it was not, or has been submitted since. The
    #: receipt says why.
    reopenedUntil: str
    #: The return of the submission.
    returnId: str
    #: The name of the return; absent if the service has no such return.
    returnName: str
    #: Notes of the return for those who submit it.
    notes: str
    #: When the return is due.
    dueDate: str
    #: The organisation of the submission.
    eid: str
    #: The definition that the submission is checked against.
    definition: str
    #: Full: all required files must be present. Indicative: some may be missing.
    submissionType: Literal["Full", "Indicative"]
    #: Pending: being built. Validating: a run is in progress. Validated: the current run covers the current files.
    #: Submitted, Closed: no further changes are possible. Cancelled: its data was deleted.
    submissionStatus: Literal["Pending", "Validating", "Validated", "Submitted", "Cancelled", "Closed"]
    #: The largest number of records in a batch.
    maxRecordPerBatch: int
    #: When the submission was created.
    dateCreated: str
    #: Its files.
    files: List[SubmissionFile]
    validationRun: ValidationRun
    receipt: Receipt


class Activity(TypedDict, total=False):
    """Something that was done with a submission."""

    #: When it was done.
    time: str
    #: What was done. RecordsChanged and Downloaded stand for all similar ones of the same minute.
    event: Literal["Created", "FileUploaded", "RecordsChanged", "CheckRequested", "CheckCancelled", "Checked", "Explained", "ExplanationWithdrawn", "Submitted", "Reopened", "Deleted", "Downloaded", "Expired", "Purged"]
    actor: Actor
    #: The file, as in URLs; `findings`, `marked-files` or `corrected-files` for a download of those.
    file: str
    #: The validation run.
    runId: int
    #: Records of the uploaded file.
    records: int
    #: Errors that the run found.
    errorCount: int
    #: Warnings that the run found.
    warningCount: int
    #: Checks that were stopped, and that the submission needs.
    stoppedCount: int
    #: Explanations that the run reopened, because it found more than they explain.
    reopened: int
    #: The codes that were explained.
    codes: List[str]
    #: The reason of an explanation, or why the submission was reopened.
    reason: str
    #: The number of the receipt.
    receipt: int
    #: Until when a reopened submission can be changed.
    until: str
    #: Files that were deleted.
    files: int
    #: Findings that were deleted.
    findings: int


class ActivityPage(TypedDict, total=False):
    """A page of what was done with a submission."""

    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: The activities, newest first.
    results: List[Activity]
    #: All activities.
    totalCount: int


class ExplanationList(TypedDict, total=False):
    """The explanations of a submission, and the warnings that still need one."""

    #: The token of the submission.
    submissionToken: str
    #: The current run; absent before the first.
    runId: int
    #: The explanations, oldest first.
    explanations: List[Explanation]
    #: Warnings that must be explained before the submission.
    open: List[Dict[str, Any]]


class OwnReturn(TypedDict, total=False):
    """A return, and, unless an operator lists all, how far an organisation is with it."""

    #: The return.
    returnId: str
    #: Its name for people.
    name: str
    #: The definition that it is checked against.
    definition: str
    #: The version of the definition when the return was described.
    definitionVersion: str
    #: Full: all required files must be present. Indicative: some may be missing.
    returnType: Literal["Full", "Indicative"]
    #: When it opens.
    openWindowDate: str
    #: When it is due.
    dueDate: str
    #: When it closes: from then on, nothing is accepted.
    closeWindowDate: str
    #: Overdue: due, but still open.
    window: Literal["NotOpen", "Open", "Overdue", "Closed"]
    #: The time zone of its dates, for showing them.
    timeZone: str
    #: Notes for those who submit it.
    notes: str
    #: The organisation.
    eid: str
    #: NotStarted: no files. FilesReceived: no run covers the files. Validating: a run is in progress. HasErrors,
    #: Ready: the run that covers the files found errors, or none. Incomplete: it found none, but a check was stopped
    #: whose findings must be fixed or explained. Submitted: frozen.
    returnStatus: Literal["NotStarted", "FilesReceived", "Validating", "HasErrors", "Incomplete", "Ready", "Submitted"]
    #: The submission that counts: the submitted one, or else the last one.
    submissionToken: str
    #: Errors that the run found which covers its files.
    errorCount: int
    #: Warnings that it found.
    warningCount: int
    #: When the submission was created.
    dateCreated: str
    #: When it was submitted.
    dateSubmitted: str


class ReturnPage(TypedDict, total=False):
    """A page of returns."""

    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: The returns, the one that opens last first.
    results: List[OwnReturn]
    #: All returns that can be listed this way.
    totalCount: int


class Return(TypedDict, total=False):
    """A return that the service collects, for the agency."""

    #: The return.
    returnId: str
    #: Its name for people.
    name: str
    #: The definition that it is checked against.
    definition: str
    #: The version of the definition when the return was described.
    definitionVersion: str
    #: Full: all required files must be present. Indicative: some may be missing.
    returnType: Literal["Full", "Indicative"]
    #: When it opens.
    openWindowDate: str
    #: When it is due.
    dueDate: str
    #: When it closes: from then on, nothing is accepted.
    closeWindowDate: str
    #: Overdue: due, but still open.
    window: Literal["NotOpen", "Open", "Overdue", "Closed"]
    #: The time zone of its dates, for showing them.
    timeZone: str
    #: Notes for those who submit it.
    notes: str
    #: The organisations that are expected to submit it; absent if all are.
    organisations: List[str]


#: How far all organisations are with a return.
ReturnOverview = TypedDict("ReturnOverview", {
    "return": "Return",
    #: The number of organisations by status.
    "statuses": "Dict[str, Any]",
    #: What changed.
    "changes": "Dict[str, Any]",
    #: Page number of this page, from 1.
    "page": "int",
    #: Page size of this page.
    "pageSize": "int",
    #: The organisations, by EID.
    "results": "List[Dict[str, Any]]",
    #: Organisations that are expected to submit, or have started to, with the status that was asked for.
    "totalCount": "int",
}, total=False)


class ReturnCauses(TypedDict, total=False):
    """What the organisations have to fix in a return: counts only, no values."""

    #: The return.
    returnId: str
    #: Those of most organisations first; at most 100.
    causes: List[Dict[str, Any]]


class SubmissionFiles(TypedDict, total=False):
    """The files of an archive or a workbook."""

    #: The files that were replaced, in the order of the definition.
    files: List[SubmissionFile]


class FileWork(TypedDict, total=False):
    """Work with the files of a submission."""

    #: Identifies the work within its submission.
    jobId: str
    #: The token of the submission.
    submissionToken: str
    #: upload: what arrived is read. workbook, marked, corrected: copies of the files are made. csv, ndjson: a file is
    #: rendered in this format.
    work: Literal["upload", "workbook", "marked", "corrected", "csv", "ndjson"]
    #: The only file that it is about.
    file: str
    #: Queued, InProgress: the work has not ended. Processed: it has. Halted, Cancelled, UnknownError: it has no
    #: result, for `reason`.
    status: Literal["Queued", "InProgress", "Processed", "Halted", "Cancelled", "UnknownError"]
    #: When it was requested.
    dateReceived: str
    #: When it ended.
    dateCompleted: str
    #: Why it has no result.
    reason: str
    #: The files that an upload has replaced.
    files: List[SubmissionFile]


class BatchResult(TypedDict, total=False):
    """The result of a batch."""

    #: The token of the submission.
    submissionToken: str
    #: The records of the batch, in order.
    content: List[Dict[str, Any]]


class ValidationRunPage(TypedDict, total=False):
    """The stored runs of a submission."""

    #: Page number of this page, from 1.
    page: int
    #: Page size of this page.
    pageSize: int
    #: The entries, newest first.
    results: List[ValidationRun]
    #: All entries.
    totalCount: int


class Rule(TypedDict, total=False):
    """A check of a definition."""

    #: The `errorCode` of its findings.
    code: str
    #: `Error` or `Warning`.
    severity: str
    #: The file, as in URLs.
    file: str
    #: The `fileType` of its findings.
    fileType: str
    #: The fields concerned.
    fields: List[str]
    #: The kind of check.
    kind: str
    #: The finding in one sentence; `{field}` is replaced by a value of the record.
    message: str
    #: Why it matters.
    why: str
    #: What to do about it.
    fix: str
    #: URL of the source.
    source: str
    #: The publisher's own number.
    replaces: str
    #: `stated`, `inferred` or `own`.
    basis: str
    #: The first day on which it applies.
    since: str
    #: The last day on which it applies.
    until: str
    #: `active`, `draft` or `retired`.
    status: str
    #: Whether its findings must be explained before the submission; absent if not.
    needsExplanation: bool


class RuleCatalogue(TypedDict, total=False):
    """All checks of a definition."""

    #: The definition.
    definition: Dict[str, Any]
    #: The names of the definitions of this service.
    definitions: List[str]
    #: Its checks, in the order of the findings.
    rules: List[Rule]


class RuleOfDefinition(TypedDict, total=False):
    """A check, and the definition that has it."""

    #: The `errorCode` of its findings.
    code: str
    #: `Error` or `Warning`.
    severity: str
    #: The file, as in URLs.
    file: str
    #: The `fileType` of its findings.
    fileType: str
    #: The fields concerned.
    fields: List[str]
    #: The kind of check.
    kind: str
    #: The finding in one sentence; `{field}` is replaced by a value of the record.
    message: str
    #: Why it matters.
    why: str
    #: What to do about it.
    fix: str
    #: URL of the source.
    source: str
    #: The publisher's own number.
    replaces: str
    #: `stated`, `inferred` or `own`.
    basis: str
    #: The first day on which it applies.
    since: str
    #: The last day on which it applies.
    until: str
    #: `active`, `draft` or `retired`.
    status: str
    #: Whether its findings must be explained before the submission; absent if not.
    needsExplanation: bool
    #: The query of a rule in SQL.
    sql: str
    #: The examples of a rule in SQL.
    examples: List[Dict[str, Any]]
    #: The definition.
    definition: Dict[str, Any]


class Caller(TypedDict, total=False):
    """The credential of a request."""

    #: The public id of the credential.
    id: str
    #: The client that holds the credential.
    clientId: str
    #: The scopes of the credential.
    scopes: List[str]
    #: The organisations that it covers.
    eids: List[str]
    #: Those of them that the operator has suspended.
    suspended: List[str]
    #: When it expires.
    expires: str
    #: The rate limits that apply to it, as the header RateLimit describes them.
    limits: List[Dict[str, Any]]


class OverviewKey(TypedDict, total=False):
    """An API key, without its secret."""

    #: The public part of the key.
    id: str
    #: The client that holds it.
    client: str
    #: Its scopes.
    scopes: List[str]
    #: The organisations that it may act for.
    eids: List[str]
    #: When it was created.
    created: str
    #: When it expires.
    expires: str
    #: When it was revoked.
    revoked: str
    #: When it was last used, to about a minute; absent if it never was.
    used: str


class OverviewJobs(TypedDict, total=False):
    """The queued jobs of one kind."""

    #: The kind of job.
    kind: str
    #: Jobs that are due and that no worker holds.
    waiting: int
    #: Jobs that workers hold.
    running: int
    #: When the longest waiting job was queued.
    oldest: str


class Overview(TypedDict, total=False):
    """What an operator sees at a glance."""

    #: The version of the service.
    version: str
    #: The URL of the database, without its password.
    database: str
    #: Submissions by status.
    submissions: Dict[str, int]
    #: Validation runs by status.
    runs: Dict[str, int]
    #: The queue.
    jobs: List[OverviewJobs]
    #: All keys.
    keys: List[OverviewKey]
    #: Valid keys that expire within 30 days and that no other key replaces, without those of sessions.
    expiringKeys: int
    #: Refused credentials by reason, since this process started.
    refusals: Dict[str, int]


class Organisation(TypedDict, total=False):
    """An organisation that a key covers, that has submissions, or that is suspended."""

    #: The identifier of the organisation.
    eid: str
    #: Whether requests for its data are refused.
    state: Literal["Active", "Suspended"]
    #: When it was suspended.
    suspended: str
    #: The note of the operator who suspended it. The organisation does not see it.
    reason: str
    #: Valid API keys that cover it.
    keys: int
    #: Stored submissions.
    submissions: int
    #: Bytes of the stored files.
    fileBytes: int
    #: Stored validation runs.
    runs: int
    #: Runs that are queued or in progress.
    activeRuns: int
    #: Findings of the stored runs.
    findings: int


class OrganisationPage(TypedDict, total=False):
    """A page of organisations."""

    #: The number of this page.
    page: int
    #: The most entries per page.
    pageSize: int
    #: The organisations, in the order of their identifiers.
    results: List[Organisation]
    #: The number of known organisations.
    totalCount: int

# --- end of types ---


class _Operations:
    """The operations of the service, one method each."""

    def _call(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              headers: Optional[Mapping[str, Any]] = None, body: Any = None,
              content: Optional[Content] = None) -> Any:
        raise NotImplementedError

    def _open(self, method: str, path: str, *, headers: Optional[Mapping[str, Any]] = None) -> Any:
        raise NotImplementedError

    # --- operations: written by clients/python/generate.ts ---

    def list_occupations(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        major_group_code: Optional[str] = None,
        minor_group_code: Optional[str] = None,
        group_relation: Optional[Literal["Primary", "Any"]] = None,
        codes: Optional[Sequence[str]] = None,
        fields: Optional[Sequence[Literal["occupationCode", "titleEnglish", "titleMaori", "titlePluralEnglish", "titlePluralMaori", "altJobTitlesEnglish", "altJobTitlesMaori", "descriptionEnglish", "descriptionMaori", "kaupapaDescriptionEnglish", "kaupapaDescriptionMaori", "detailedWorkActivitiesEnglish", "detailedWorkActivitiesMaori", "trainingDuration", "lifeOnTheJobEnglish", "lifeOnTheJobMaori", "entryRequirements", "minorGroups", "renumeration", "registrationAuthority", "lastUpdatedDate"]]] = None,
        last_updated_after: Optional[Union[datetime, str]] = None,
        last_updated_before: Optional[Union[datetime, str]] = None,
    ) -> OccupationPage:
        """List occupations. A page of the occupation catalogue, ordered by occupation code. Follow `nextCursor` until
        it is absent.

        - limit: Number of records per page, from 1 to 100. A larger number is refused, never clamped.
        - cursor: Where the page starts: the first occupation code at or after this one. Usually the `nextCursor` of
        the page before.
        - major_group_code: Only records of this major group: those with a minor group, Primary or Secondary, that
        belongs to it.
        - minor_group_code: Only records of this minor group, Primary or Secondary.
        - group_relation: How the records belong to the groups of the group filters: `Any`, or only `Primary`: the
        Primary minor group, and its Primary major group.
        - codes: Only the records with these codes: up to 100, comma-separated. Without `Limit`, the page has all of
        them. `missingCodes` lists those that the catalogue does not have.
        - fields: The fields that each record shows, comma-separated; all of them where it is absent.
        - last_updated_after: Only records last updated after this time, exclusive. RFC 3339; UTC where no offset is
        given.
        - last_updated_before: Only records last updated before this time, exclusive. RFC 3339; UTC where no offset is
        given.
        """
        return self._call(
            "GET", "/v1/occupations",
            query={"Limit": limit, "Cursor": cursor, "Filter.MajorGroupCode": major_group_code, "Filter.MinorGroupCode": minor_group_code, "Filter.GroupRelation": group_relation, "Filter.Codes": codes, "Fields": fields, "Filter.LastUpdatedAfter": last_updated_after, "Filter.LastUpdatedBefore": last_updated_before},
        )

    def get_occupation(
        self,
        code: str,
    ) -> OccupationRecord:
        """Get an occupation. The record of one occupation, byte for byte as in the list.

        - code: The occupation code.
        """
        return self._call(
            "GET", _path("/v1/occupations/{}", code),
        )

    def list_occupation_groups(
        self,
    ) -> OccupationGroups:
        """List groups. Every major and minor group that an occupation belongs to, by code, with the number of its
        occupations.
        """
        return self._call(
            "GET", "/v1/occupation-groups",
        )

    def get_occupation_group(
        self,
        code: str,
    ) -> OccupationGroups:
        """Get a group. The major group with a code, the minor group with it, or both: the two kinds are numbered
        separately.

        - code: The code of a major or a minor group.
        """
        return self._call(
            "GET", _path("/v1/occupation-groups/{}", code),
        )

    def list_occupation_changes(
        self,
        *,
        since: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> OccupationChanges:
        """List changes. The occupations that were created, updated or removed since a token, each once and in its
        newest state. Follow `next` until it is absent, then keep `delta` for the next time.

        - since: The `delta` of an earlier response or the Delta-Token of a snapshot; or the `next` of the page
        before. `latest` returns only the token of the current state. Without it, every record is returned as created.
        - limit: Number of changes per page, from 1 to 100. A larger number is refused, never clamped.
        """
        return self._call(
            "GET", "/v1/occupations/changes",
            query={"Since": since, "Limit": limit},
        )

    def get_occupation_snapshot(
        self,
    ) -> Iterator[Any]:
        """Get the whole catalogue. Every record of one revision as NDJSON, ordered by occupation code: a record on
        each line, as in the list. Continue with the change feed from the token in Delta-Token.
        """
        return _lines(self._open(
            "GET", "/v1/occupations/snapshot",
        ))

    def list_occupation_revisions(
        self,
        *,
        limit: Optional[int] = None,
    ) -> OccupationRevisions:
        """List revisions. The latest revisions of the catalogue, newest first, with their origins.

        - limit: Number of revisions, from 1 to 200.
        """
        return self._call(
            "GET", "/v1/occupation-revisions",
            query={"Limit": limit},
        )

    def get_occupation_revision(
        self,
        revision: int,
        *,
        since: Optional[int] = None,
        after: Optional[str] = None,
    ) -> OccupationDifferences:
        """Compare revisions. The records that differ between a revision and the one before it, or another one.

        - since: The revision that it is compared with; without it, the one before.
        - after: The `next` of the response before, to read on.
        - revision: Number of the revision.
        """
        return self._call(
            "GET", _path("/v1/occupation-revisions/{}", revision),
            query={"Since": since, "After": after},
        )

    def search_occupations(
        self,
        *,
        q: Optional[str] = None,
        lang: Optional[Literal["en", "mi"]] = None,
        major_group_code: Optional[str] = None,
        minor_group_code: Optional[str] = None,
        group_relation: Optional[Literal["Any", "Primary"]] = None,
        limit: Optional[int] = None,
        page: Optional[int] = None,
    ) -> OccupationSearchPage:
        """Search occupations. The occupations that a query may mean, best first. The search covers titles,
        alternative titles, search-only names, descriptions and tasks, and tolerates spelling mistakes and incomplete
        words.

        - q: The words to search for. Macrons, umlauts, upper case and spelling mistakes do not matter. Without words,
        nothing is found.
        - lang: Only names in this language: `en` or `mi`. Both where absent.
        - major_group_code: Only occupations of this major group.
        - minor_group_code: Only occupations of this minor group.
        - group_relation: Whether the groups of the filters may be Secondary groups of an occupation.
        - limit: Number of results per page.
        - page: Number of the page.
        """
        return self._call(
            "GET", "/v1/occupations/search",
            query={"q": q, "Lang": lang, "Filter.MajorGroupCode": major_group_code, "Filter.MinorGroupCode": minor_group_code, "Filter.GroupRelation": group_relation, "Limit": limit, "Page": page},
        )

    def suggest_occupations(
        self,
        *,
        q: Optional[str] = None,
        lang: Optional[Literal["en", "mi"]] = None,
        limit: Optional[int] = None,
    ) -> OccupationSuggestions:
        """Suggest occupation names. Titles and alternative titles that complete what a user has typed so far.

        - q: The words to search for. Macrons, umlauts, upper case and spelling mistakes do not matter. Without words,
        nothing is found.
        - lang: Only names in this language: `en` or `mi`. Both where absent.
        - limit: Number of suggestions.
        """
        return self._call(
            "GET", "/v1/occupations/suggestions",
            query={"q": q, "Lang": lang, "Limit": limit},
        )

    def code_titles(
        self,
        items: Sequence[Mapping[str, Any]],
    ) -> Codings:
        """Code job titles. The occupation of each job title, with the probability that it is right. Where no code is
        more likely right than wrong, the response has the likeliest group instead.

        - items: The job titles to code.
        """
        return self._call(
            "POST", "/v1/codings",
            body={"items": items},
        )

    def confirm_codings(
        self,
        items: Sequence[Mapping[str, Any]],
    ) -> ReviewedCodings:
        """Confirm codings. Stores what a reviewer has decided about job titles: the code, or that none is known. A
        decision replaces the earlier one of the same client, never that of another: if they disagree, the title is
        `disputed`. Confirmed titles become names of the search at the next revision of the catalogue.

        - items: The decisions.
        """
        return self._call(
            "POST", "/v1/confirmed-codings",
            body={"items": items},
        )

    def list_confirmed_codings(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        state: Optional[Literal["confirmed", "disputed", "unknown"]] = None,
    ) -> ReviewedCodingPage:
        """List confirmed codings. The job titles that reviewers have decided about, in alphabetical order.

        - limit: Number of titles per page, from 1 to 300.
        - cursor: The `nextCursor` of the page before.
        - state: Only titles in this state.
        """
        return self._call(
            "GET", "/v1/confirmed-codings",
            query={"Limit": limit, "Cursor": cursor, "Filter.State": state},
        )

    def withdraw_coding(
        self,
        id: str,
    ) -> ReviewedCodings:
        """Withdraw a decision. Withdraws the client's own decision about a job title. Those of other reviewers stay.

        - id: The ID of the title.
        """
        return self._call(
            "DELETE", _path("/v1/confirmed-codings/{}", id),
        )

    def get_validation_results(
        self,
        submission_token: str,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
        error_type: Optional[Literal["Error", "Warning"]] = None,
        file_type: Optional[Literal["Course", "Enrolment", "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]] = None,
        error_code: Optional[str] = None,
        student_id: Optional[str] = None,
        course_code: Optional[str] = None,
    ) -> ValidationResultsPage:
        """Get validation results. A page of the current validation results of a submission, in the order they were
        published. Pages with ETags that begin alike, up to the hyphen, are of one run. Filters combine with AND. As
        `text/csv` or `application/x-ndjson`, all entries are streamed, as many as `Total-Count` says, each also with
        `file`, `line`, `field`, `value`, `findingKey` and `cause` if they are stored; where not all findings of the
        run are stored, `Found-Count` says how many it has. An error on the way ends the connection.

        - page: Page number, from 1. A page past the last one is refused; page 1 always exists.
        - page_size: Entries per page, from 1 to 1000. A larger number is refused, never clamped.
        - error_type: Only entries of this type.
        - file_type: Only entries of this file.
        - error_code: Only entries with this code.
        - student_id: Only entries about this student.
        - course_code: Only entries about this course.
        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-results", submission_token),
            query={"page": page, "pageSize": page_size, "Filter.ErrorType": error_type, "Filter.FileType": file_type, "Filter.ErrorCode": error_code, "Filter.StudentId": student_id, "Filter.CourseCode": course_code},
            headers={"EID": self._organisation()},
        )

    def get_validation_results_summary(
        self,
        submission_token: str,
    ) -> ResultsSummary:
        """Summarise validation results. What the current run found, by code, with exact totals, and the checks that
        could not run.

        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-results/summary", submission_token),
            headers={"EID": self._organisation()},
        )

    def get_validation_results_causes(
        self,
        submission_token: str,
    ) -> ResultsCauses:
        """List the causes of validation results. What to fix, instead of every finding: each finding of the current
        run belongs to exactly one cause. A key is the same in other runs.

        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-results/causes", submission_token),
            headers={"EID": self._organisation()},
        )

    def get_validation_results_changes(
        self,
        submission_token: str,
        *,
        from_: int,
        to: Optional[int] = None,
        status: Optional[Literal["new", "fixed", "open"]] = None,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> ResultsChanges:
        """Compare two runs. The findings that are new, fixed and still open between an earlier run and the current
        one, or a later one, with exact totals.

        - from_: The `runId` of the earlier run.
        - to: The `runId` of the later run; the current one where absent.
        - status: Only findings with this status.
        - page: Page number, from 1.
        - page_size: Findings per page, from 1 to 1000.
        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-results/changes", submission_token),
            query={"from": from_, "to": to, "status": status, "page": page, "pageSize": page_size},
            headers={"EID": self._organisation()},
        )

    def list_findings(
        self,
        submission_token: str,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
        error_type: Optional[Literal["Error", "Warning"]] = None,
        file_type: Optional[Literal["Course", "Enrolment", "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]] = None,
        error_code: Optional[str] = None,
        student_id: Optional[str] = None,
        course_code: Optional[str] = None,
        cause: Optional[str] = None,
        new_since: Optional[int] = None,
    ) -> FindingsPage:
        """List findings with their places. A page of the stored findings of the current run, each with its file,
        line, field, value and cause. Filters combine with AND; `Filter.Cause` selects those of one cause, and
        `newSince` those that an earlier run did not have.

        - page: Page number, from 1. A page past the last one is refused; page 1 always exists.
        - page_size: Entries per page, from 1 to 1000. A larger number is refused, never clamped.
        - error_type: Only entries of this type.
        - file_type: Only entries of this file.
        - error_code: Only entries with this code.
        - student_id: Only entries about this student.
        - course_code: Only entries about this course.
        - cause: Only findings of the cause with this key.
        - new_since: The `runId` of an earlier run: only findings that it did not have.
        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-results/findings", submission_token),
            query={"page": page, "pageSize": page_size, "Filter.ErrorType": error_type, "Filter.FileType": file_type, "Filter.ErrorCode": error_code, "Filter.StudentId": student_id, "Filter.CourseCode": course_code, "Filter.Cause": cause, "newSince": new_since},
            headers={"EID": self._organisation()},
        )

    def list_learners(
        self,
        submission_token: str,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> LearnersPage:
        """List the learners with findings. The students of the current run with their numbers of stored findings,
        those with most first. `Filter.StudentId` of the findings shows those of one.

        - page: Page number, from 1.
        - page_size: Students per page, from 1 to 1000.
        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-results/learners", submission_token),
            query={"page": page, "pageSize": page_size},
            headers={"EID": self._organisation()},
        )

    def create_submission(
        self,
        return_id: str,
        *,
        definition: Optional[str] = None,
        type: Optional[Literal["Full", "Indicative"]] = None,
    ) -> Submission:
        """Create a submission. Creates a submission for a return, or returns the open submission of the organisation
        for that return.

        - return_id: The return, such as 202512. Its form depends on the definition.
        - definition: The definition to check against; defaults to the first one of the service.
        - type: Defaults to `Full`.
        """
        return self._call(
            "POST", "/v1/submissions",
            headers={"EID": self._organisation()},
            body={"returnId": return_id, "definition": definition, "type": type},
        )

    def list_submissions(
        self,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> SubmissionPage:
        """List submissions. The submissions of the organisation, newest first.

        - page: Page number, from 1.
        - page_size: Entries per page, from 1 to 100.
        """
        return self._call(
            "GET", "/v1/submissions",
            query={"page": page, "pageSize": page_size},
            headers={"EID": self._organisation()},
        )

    def get_submission(
        self,
        submission_token: str,
    ) -> Submission:
        """Get a submission. The state of a submission, its files, and its last validation run.

        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}", submission_token),
            headers={"EID": self._organisation()},
        )

    def delete_submission(
        self,
        submission_token: str,
    ) -> Submission:
        """Delete a submission. Cancels a submission and deletes all its records and findings. They are unreadable at
        once, and a job removes them from the database. The token remains known as Cancelled.

        - submission_token: The token of the submission.
        """
        return self._call(
            "DELETE", _path("/v1/submissions/{}", submission_token),
            headers={"EID": self._organisation()},
        )

    def submit_submission(
        self,
        submission_token: str,
    ) -> SubmittedSubmission:
        """Submit a submission. Freezes a submission, and returns its receipt. The current run must cover the current
        files, have made every check whose findings must be fixed or explained, and have found no errors. A check
        whose file or column is absent is not needed if the definition permits that. Warnings are allowed; those that
        the definition wants explained must have an explanation.

        - submission_token: The token of the submission.
        """
        return self._call(
            "POST", _path("/v1/submissions/{}/submit", submission_token),
            headers={"EID": self._organisation()},
        )

    def list_submission_activity(
        self,
        submission_token: str,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> ActivityPage:
        """List what was done with a submission. Who created, uploaded, checked, explained, submitted, reopened,
        deleted or downloaded what, newest first. It is kept as long as the record of the submission, also after its
        data was deleted, and contains no data of learners. As `application/x-ndjson`, the whole list is streamed.

        - page: Page number, from 1.
        - page_size: Entries per page, from 1 to 100.
        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/activity", submission_token),
            query={"page": page, "pageSize": page_size},
            headers={"EID": self._organisation()},
        )

    def list_explanations(
        self,
        submission_token: str,
    ) -> ExplanationList:
        """List the explanations of a submission. Why warnings are right, whether each explanation still holds for the
        current run, and which warnings must be explained before the submission.

        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/explanations", submission_token),
            headers={"EID": self._organisation()},
        )

    def get_explanation(
        self,
        submission_token: str,
        target: str,
    ) -> Explanation:
        """Get an explanation. Why the warnings with a code, or of a cause, are right.

        - submission_token: The token of the submission.
        - target: The code of the findings, or the key of their cause.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/explanations/{}", submission_token, target),
            headers={"EID": self._organisation()},
        )

    def put_explanation(
        self,
        submission_token: str,
        target: str,
        reason: Literal["Verified", "Agreed", "Later", "Other"],
        *,
        text: Optional[str] = None,
    ) -> Explanation:
        """Explain warnings. Says why the warnings with a code, or of a cause, are right. It replaces an earlier
        explanation of the same, and holds in later runs until they have more than 10 % or 5 more findings, whichever
        is larger.

        - submission_token: The token of the submission.
        - target: The code of the findings, or the key of their cause.
        - reason: Verified: the records were checked and are right. Agreed: the exception was agreed with the agency.
        Later: what is missing follows in a later return. Other: the text says why.
        - text: The reason in words; required for Other.
        """
        return self._call(
            "PUT", _path("/v1/submissions/{}/explanations/{}", submission_token, target),
            headers={"EID": self._organisation()},
            body={"reason": reason, "text": text},
        )

    def delete_explanation(
        self,
        submission_token: str,
        target: str,
    ) -> ExplanationList:
        """Withdraw an explanation. Withdraws the explanation of a code or a cause. The activities keep that there was
        one.

        - submission_token: The token of the submission.
        - target: The code of the findings, or the key of their cause.
        """
        return self._call(
            "DELETE", _path("/v1/submissions/{}/explanations/{}", submission_token, target),
            headers={"EID": self._organisation()},
        )

    def get_submission_receipt(
        self,
        submission_token: str,
        *,
        number: Optional[int] = None,
    ) -> Receipt:
        """Get the receipt of a submission. What was submitted, by whom and when: the files with their digests, the
        definition and its version, the run with its counts, and the explanations. A reopened submission keeps its
        receipts.

        - number: The number of the receipt; defaults to the last one.
        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/receipt", submission_token),
            query={"number": number},
            headers={"EID": self._organisation()},
        )

    def reopen_submission(
        self,
        submission_token: str,
        reason: str,
        *,
        until: Optional[str] = None,
    ) -> Submission:
        """Reopen a submission. Opens a submitted submission again, so that its organisation can change and submit it
        again. Its receipts and activities remain. It is for the collecting agency; no EID is needed.

        - submission_token: The token of the submission.
        - reason: Why, for the organisation. It is shown in the receipt and in the activities.
        - until: Until when the submission can be changed, also if its return has closed (RFC 3339); defaults to seven
        days from now.
        """
        return self._call(
            "POST", _path("/v1/submissions/{}/reopen", submission_token),
            body={"reason": reason, "until": until},
        )

    def list_returns(
        self,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
        include_indicative: Optional[bool] = None,
    ) -> ReturnPage:
        """List returns. The returns that the service collects from the organisation, with their dates and how far the
        organisation is with each. Without the header EID, a credential with the scope operate lists all returns,
        without the state of an organisation. Empty if the service collects every return.

        - page: Page number, from 1.
        - page_size: Entries per page, from 1 to 100.
        - include_indicative: Whether returns of the type Indicative are listed.
        """
        return self._call(
            "GET", "/v1/returns",
            query={"page": page, "pageSize": page_size, "includeIndicative": include_indicative},
            headers={"EID": self._eid},
        )

    def get_return_overview(
        self,
        return_id: str,
        *,
        status: Optional[Literal["NotStarted", "FilesReceived", "Validating", "HasErrors", "Incomplete", "Ready", "Submitted"]] = None,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> ReturnOverview:
        """Show how far all organisations are with a return. For the collecting agency: the organisations that have
        not started, have errors, are ready or have submitted, and what changed in the last 24 hours. Without a list
        of organisations, those of valid keys that may submit are expected, unless they are suspended. No EID is
        needed.

        - status: Only organisations with this status.
        - page: Page number, from 1.
        - page_size: Organisations per page, from 1 to 1000.
        - return_id: The return.
        """
        return self._call(
            "GET", _path("/v1/returns/{}/overview", return_id),
            query={"status": status, "page": page, "pageSize": page_size},
        )

    def get_return_causes(
        self,
        return_id: str,
    ) -> ReturnCauses:
        """List the most frequent causes of a return. For the collecting agency: what most organisations have to fix,
        by the current runs of their submissions. Counts only: no values, and no data of learners. No EID is needed.

        - return_id: The return.
        """
        return self._call(
            "GET", _path("/v1/returns/{}/causes", return_id),
        )

    def put_return(
        self,
        return_id: str,
        name: str,
        definition: str,
        opens: str,
        closes: str,
        *,
        version: Optional[str] = None,
        type: Optional[Literal["Full", "Indicative"]] = None,
        due: Optional[str] = None,
        organisations: Optional[Sequence[Mapping[str, Any]]] = None,
        notes: Optional[str] = None,
    ) -> Return:
        """Describe a return. For the collecting agency: adds a return, or replaces the one with this id, after the
        checks of `mahi returns import`. If anything is wrong, the detail names all mistakes, and nothing is stored.
        No EID is needed.

        - return_id: The return.
        - name: Its name for people.
        - definition: The definition that it is checked against.
        - version: The version of the definition that the service must have.
        - type: Full (default): all required files must be present. Indicative: some may be missing.
        - opens: When it opens. A date, a local time such as `2026-01-31 17:00` in the time zone of the service, or a
        date-time with an offset.
        - due: When it is due; by default when it closes. A date, a local time such as `2026-01-31 17:00` in the time
        zone of the service, or a date-time with an offset.
        - closes: When it closes. A date, a local time such as `2026-01-31 17:00` in the time zone of the service, or
        a date-time with an offset.
        - organisations: The organisations that are expected to submit it; all by default.
        - notes: Notes for those who submit it.
        """
        return self._call(
            "PUT", _path("/v1/returns/{}", return_id),
            body={"name": name, "definition": definition, "version": version, "type": type, "opens": opens, "due": due, "closes": closes, "organisations": organisations, "notes": notes},
        )

    def put_submission_files(
        self,
        submission_token: str,
        content: Content,
        *,
        prefer: Optional[str] = None,
        content_digest: Optional[str] = None,
        content_type: Optional[str] = None,
    ) -> SubmissionFiles:
        """Upload an archive or a workbook. Replaces files of a submission by those in a ZIP archive, or by the sheets
        of a workbook (XLSX). Each is recognised by its name, as `mahi check` does; files of the submission that are
        not in it stay. `notes` say what was guessed, and those of the first file also what was not read. All files
        are replaced at once: if one is refused, none is. A worker reads them: the response is 202 if that takes
        longer than the caller waits.

        - submission_token: The token of the submission.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most and by default, or `respond-async`; other preferences are
        ignored.
        - content_digest: SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.
        - content: The content: bytes, a path, or a file that is open for reading bytes.
        - content_type: Its media type: application/octet-stream or application/vnd.ms-excel.sheet.macroenabled.12 or
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet or application/x-zip-compressed or
        application/zip; application/zip by default.
        """
        return self._call(
            "PUT", _path("/v1/submissions/{}/files", submission_token),
            headers={"EID": self._organisation(), "Prefer": prefer, "Content-Digest": content_digest, "Content-Type": content_type or "application/zip"},
            content=content,
        )

    def put_submission_file(
        self,
        submission_token: str,
        file_type: str,
        content: Content,
        *,
        prefer: Optional[str] = None,
        content_digest: Optional[str] = None,
        if_match: Optional[str] = None,
        if_none_match: Optional[str] = None,
        content_type: Optional[str] = None,
    ) -> SubmissionFile:
        """Upload a file. Replaces a whole file of a submission. Whatever `mahi check` reads is accepted: any
        separator, UTF-8, UTF-16, Windows-1252 and the encoding that the definition states, gzip, columns in another
        spelling, a ZIP archive with only this file, and a workbook (XLSX) with only this sheet. It is stored as
        UTF-8; `notes` say what was guessed, whether the first line is not the header of this file, and whether it has
        no records. Faulty records become findings of the next validation run. The previous file stays until the
        upload has been read, which a worker does: the response is 202 if that takes longer than the caller waits.

        - submission_token: The token of the submission.
        - file_type: The file, such as `learners` or `course-completions`; the extension `.csv`, `.ndjson`, `.zip` or
        `.xlsx` is optional.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most and by default, or `respond-async`; other preferences are
        ignored.
        - content_digest: SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.
        - if_match: The ETag of the file to replace.
        - if_none_match: `*`: store the file only if there is none yet.
        - content: The content: bytes, a path, or a file that is open for reading bytes.
        - content_type: Its media type: application/octet-stream or application/vnd.ms-excel.sheet.macroenabled.12 or
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet or application/x-ndjson or
        application/x-zip-compressed or application/zip or text/csv; text/csv by default.
        """
        return self._call(
            "PUT", _path("/v1/submissions/{}/files/{}", submission_token, file_type),
            headers={"EID": self._organisation(), "Prefer": prefer, "Content-Digest": content_digest, "If-Match": if_match, "If-None-Match": if_none_match, "Content-Type": content_type or "text/csv"},
            content=content,
        )

    def get_submission_file(
        self,
        submission_token: str,
        file_type: str,
        *,
        prefer: Optional[str] = None,
    ) -> Iterator[bytes]:
        """Get a file. The current file of a submission: the uploaded one, or the records of all batches. A worker
        renders it in the other format: the response is 202 if that takes longer than the caller waits. Send its ETag
        as If-Match with the next upload. An error during the download closes the connection.

        - submission_token: The token of the submission.
        - file_type: The file, such as `learners` or `course-completions`; the extension `.csv`, `.ndjson`, `.zip` or
        `.xlsx` is optional.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most and by default, or `respond-async`; other preferences are
        ignored.
        """
        return _bytes(self._open(
            "GET", _path("/v1/submissions/{}/files/{}", submission_token, file_type),
            headers={"EID": self._organisation(), "Prefer": prefer},
        ))

    def get_marked_files(
        self,
        submission_token: str,
        *,
        format: Optional[Literal["xlsx", "csv"]] = None,
        prefer: Optional[str] = None,
    ) -> Iterator[bytes]:
        """Get the files with their findings marked. Copies of the current files of a submission with the findings
        beside each row: one workbook with coloured cells, or CSV files in a ZIP archive. A worker checks the files
        for it: the response is 202 if that takes longer than the caller waits. Ask again when the work has ended;
        what was made is kept for an hour, unless the files change.

        - format: A workbook, the default, or CSV files.
        - submission_token: The token of the submission.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most and by default, or `respond-async`; other preferences are
        ignored.
        """
        return _bytes(self._open(
            "GET", _path("/v1/submissions/{}/marked-files", submission_token),
            query={"format": format},
            headers={"EID": self._organisation(), "Prefer": prefer},
        ))

    def get_corrected_files(
        self,
        submission_token: str,
        *,
        prefer: Optional[str] = None,
    ) -> Iterator[bytes]:
        """Get corrected copies of the files. Copies of the current files of a submission, in a ZIP archive, in which
        every fault with only one possible repair is corrected, and `mahi-changes.csv`, which lists each change. The
        submission does not change: upload the copies to use them. The response is 202 if a worker needs longer than
        the caller waits.

        - submission_token: The token of the submission.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most and by default, or `respond-async`; other preferences are
        ignored.
        """
        return _bytes(self._open(
            "GET", _path("/v1/submissions/{}/corrected-files", submission_token),
            headers={"EID": self._organisation(), "Prefer": prefer},
        ))

    def get_file_work(
        self,
        submission_token: str,
        job_id: str,
        *,
        prefer: Optional[str] = None,
    ) -> FileWork:
        """Get the state of work with files. The state of an upload that is read, or of copies that are made. `Prefer:
        wait=30` delays the response until the work has ended, for at most that many seconds. An hour after it was
        last used, the work is forgotten.

        - submission_token: The token of the submission.
        - job_id: The work, as in `Location`.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most; other preferences are ignored.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/jobs/{}", submission_token, job_id),
            headers={"EID": self._organisation(), "Prefer": prefer},
        )

    def add_submission_records(
        self,
        submission_token: str,
        file_type: str,
        content: Sequence[Mapping[str, Any]],
    ) -> BatchResult:
        """Add or replace records. Adds a batch of records to a file that is built from batches; an uploaded file is
        replaced as a whole. A record replaces the earlier one with the same `localId`; within a batch, the last one
        applies.

        - submission_token: The token of the submission.
        - file_type: The file, such as `learners` or `course-completions`; the extension `.csv`, `.ndjson`, `.zip` or
        `.xlsx` is optional.
        - content: Records, each with its `localId` and its fields.
        """
        return self._call(
            "POST", _path("/v1/submissions/{}/records/{}", submission_token, file_type),
            headers={"EID": self._organisation()},
            body={"content": content},
        )

    def delete_submission_records(
        self,
        submission_token: str,
        file_type: str,
        content: Sequence[Mapping[str, Any]],
    ) -> BatchResult:
        """Delete records. Deletes the records of a file that have the given `localId`s.

        - submission_token: The token of the submission.
        - file_type: The file, such as `learners` or `course-completions`; the extension `.csv`, `.ndjson`, `.zip` or
        `.xlsx` is optional.
        - content: The records to delete.
        """
        return self._call(
            "DELETE", _path("/v1/submissions/{}/records/{}", submission_token, file_type),
            headers={"EID": self._organisation()},
            body={"content": content},
        )

    def request_validation_run(
        self,
        submission_token: str,
    ) -> ValidationRun:
        """Request a validation run. Queues a run of the current files. While a run is queued or in progress, returns
        that run instead. Location has the URL of its state; `Prefer: wait=30` delays that response until the run has
        ended.

        - submission_token: The token of the submission.
        """
        return self._call(
            "POST", _path("/v1/submissions/{}/validation-runs", submission_token),
            headers={"EID": self._organisation()},
        )

    def list_validation_runs(
        self,
        submission_token: str,
    ) -> ValidationRunPage:
        """List validation runs. The stored runs of a submission, newest first.

        - submission_token: The token of the submission.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-runs", submission_token),
            headers={"EID": self._organisation()},
        )

    def get_validation_run(
        self,
        submission_token: str,
        run_id: int,
        *,
        prefer: Optional[str] = None,
    ) -> ValidationRun:
        """Get a validation run. The state of a run. `Prefer: wait=30` delays the response until the run has ended,
        for at most that many seconds.

        - submission_token: The token of the submission.
        - run_id: Number of the run within its submission.
        - prefer: `wait=SECONDS` (RFC 7240), 30 at most; other preferences are ignored.
        """
        return self._call(
            "GET", _path("/v1/submissions/{}/validation-runs/{}", submission_token, run_id),
            headers={"EID": self._organisation(), "Prefer": prefer},
        )

    def cancel_validation_run(
        self,
        submission_token: str,
        run_id: int,
    ) -> ValidationRun:
        """Cancel a validation run. Cancels a run that is queued or in progress. A finished run does not change.

        - submission_token: The token of the submission.
        - run_id: Number of the run within its submission.
        """
        return self._call(
            "DELETE", _path("/v1/submissions/{}/validation-runs/{}", submission_token, run_id),
            headers={"EID": self._organisation()},
        )

    def list_rules(
        self,
        *,
        definition: Optional[str] = None,
    ) -> RuleCatalogue:
        """List rules. All checks of a definition, with their reasons and remedies. No EID is needed.

        - definition: The definition; defaults to the first one of the service.
        """
        return self._call(
            "GET", "/v1/rules",
            query={"definition": definition},
        )

    def get_rule(
        self,
        code: str,
        *,
        definition: Optional[str] = None,
    ) -> RuleOfDefinition:
        """Get a rule. One check of a definition. No EID is needed.

        - definition: The definition; defaults to the first one of the service.
        - code: The `errorCode` of its findings.
        """
        return self._call(
            "GET", _path("/v1/rules/{}", code),
            query={"definition": definition},
        )

    def get_caller(
        self,
    ) -> Caller:
        """Describe the credential. The client, scopes, organisations, expiry and rate limits of the credential in the
        request. With the header EID, the remaining requests are those for that organisation.
        """
        return self._call(
            "GET", "/v1/me",
            headers={"EID": self._eid},
        )

    def get_overview(
        self,
    ) -> Overview:
        """Show the state of the service. The queue, the keys without their secrets, and counts, for operators.
        """
        return self._call(
            "GET", "/v1/overview",
        )

    def list_organisations(
        self,
        *,
        page: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> OrganisationPage:
        """List organisations. The organisations that keys cover, that have submissions, or that are suspended, with
        what is stored for each.

        - page: Page number, from 1.
        - page_size: Entries per page, from 1 to 1000.
        """
        return self._call(
            "GET", "/v1/organisations",
            query={"page": page, "pageSize": page_size},
        )

    def get_organisation(
        self,
        eid: str,
    ) -> Organisation:
        """Show the usage of an organisation. What is stored for an organisation.

        - eid: The identifier of the organisation.
        """
        return self._call(
            "GET", _path("/v1/organisations/{}", eid),
        )

    def suspend_organisation(
        self,
        eid: str,
        *,
        reason: Optional[str] = None,
    ) -> Organisation:
        """Suspend an organisation. Refuses every request for the data of an organisation, with any credential, until
        it is resumed, and cancels its runs that are queued or in progress. Nothing is deleted.

        - eid: The identifier of the organisation.
        - reason: A note for operators, without personal data.
        """
        return self._call(
            "PUT", _path("/v1/organisations/{}/suspension", eid),
            body={"reason": reason},
        )

    def resume_organisation(
        self,
        eid: str,
    ) -> Organisation:
        """Resume an organisation. Ends the suspension of an organisation. One that is not suspended does not change.
        Cancelled runs are not started again.

        - eid: The identifier of the organisation.
        """
        return self._call(
            "DELETE", _path("/v1/organisations/{}/suspension", eid),
        )

    # --- end of operations ---


class Client(_Operations):
    """A client of one service, for one credential. It may be used by one thread at a time.

    Give an API key as `api_key`, or a key or JWT as `token`; without either, only a public catalogue can be read.
    `eid` is the organisation to act for, which submissions need. Redirects are not followed, so that the credential
    is sent nowhere else. A 429, a 503 and a fault of the network are tried again until `deadline` seconds have passed;
    an upload is tried again as long as its content can be read again.
    """

    def __init__(self, base_url: str, *, api_key: Optional[str] = None, token: Optional[str] = None,
                 eid: Optional[str] = None, deadline: float = DEADLINE) -> None:
        parts = urllib.parse.urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"base_url must be the URL of the service, such as https://mahi.example.org, not {base_url!r}")
        if api_key is not None and token is not None:
            raise ValueError("give either api_key or token")
        for name, value in (("api_key", api_key), ("token", token), ("eid", eid)):
            # http.client would repeat the credential in its error.
            if value is not None and not re.fullmatch(r"[\x21-\x7e]+", value):
                raise ValueError(f"{name} is empty or has a character that a header cannot have, such as a line break")
        self._base = base_url.split("?")[0].split("#")[0].rstrip("/")
        self._eid = eid
        self._deadline = deadline
        self._credential: Dict[str, str] = {}
        if api_key is not None:
            self._credential["X-API-Key"] = api_key
        if token is not None:
            self._credential["Authorization"] = f"Bearer {token}"
        self._opener = urllib.request.build_opener(_NoRedirect)
        #: The run that the last response shows, which its ETag names.
        self._last_run: Optional[str] = None

    # What takes several requests

    def occupations(self, **filters: Any) -> Iterator[OccupationRecord]:
        """Every occupation that the filters of `list_occupations` select, a page at a time."""
        filters.setdefault("limit", 100)
        while True:
            page = self.list_occupations(**filters)
            yield from page.get("data", [])
            if "nextCursor" not in page:
                return
            filters["cursor"] = page["nextCursor"]

    def findings(self, submission_token: str, **filters: Any) -> Iterator[ValidationEntry]:
        """Every finding of a submission's current run that the filters of `get_validation_results` select.

        Findings of two runs are never mixed: if a new run replaces the one that is being read, this fails.
        """
        number, read, run = 1, 0, None
        filters.setdefault("page_size", 1000)
        while True:
            try:
                page = self.get_validation_results(submission_token, page=number, **filters)
            except MahiError as error:
                if number == 1 or error.error_code != "PR2":
                    raise
                raise MahiError("A new run has replaced the one that was being read: read again") from error
            if number > 1 and self._last_run != run:
                raise MahiError("A new run has replaced the one that was being read: read again")
            run = self._last_run
            if run is None:
                raise MahiError("The response lacks the ETag that names its run")
            entries = page.get("results", [])
            yield from entries
            read += len(entries)
            if read >= page["totalCount"]:
                return
            if not entries:
                raise MahiError("The response has fewer entries than its total count")
            number += 1

    def upload(self, submission_token: str, files: Mapping[str, Content]) -> None:
        """Puts files, such as `{"learners": Path("learners.csv")}`, as CSV."""
        for file, content in files.items():
            self.put_submission_file(submission_token, file, content)

    def validate(self, submission_token: str, *, timeout: Optional[float] = None) -> ValidationRun:
        """Requests a validation run and waits until it has ended, whatever its result; at most `timeout` seconds."""
        run = self.request_validation_run(submission_token)
        end = None if timeout is None else time.monotonic() + timeout
        while "dateCompleted" not in run:
            left = WAIT if end is None else end - time.monotonic()
            if left <= 0:
                raise MahiError(f"The run did not end within {timeout} seconds")
            run = self.get_validation_run(
                submission_token, run["runId"], prefer=f"wait={max(0, min(WAIT, int(left)))}")
        return run

    # How a request is sent

    def _call(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              headers: Optional[Mapping[str, Any]] = None, body: Any = None,
              content: Optional[Content] = None) -> Any:
        own = dict(headers or {})
        if body is not None:
            own["Content-Type"] = "application/json"
            content = json.dumps({name: value for name, value in body.items() if value is not None}).encode()

        def read(response: Any) -> bytes:
            with response:
                return _read(response)

        data = self._send(method, path + _write_query(query or {}), own, content, read)
        try:
            result = json.loads(data)
        except ValueError as error:
            raise MahiError("The response is not JSON: is base_url the URL of the service?") from error
        if method != "PUT" or not isinstance(result, dict) or "jobId" not in result:
            return result
        files = self._await(result).get("files", [])
        return files[0] if "file" in result else {"files": files}

    def _open(self, method: str, path: str, *, headers: Optional[Mapping[str, Any]] = None) -> Any:
        while True:
            response = self._send(method, path, dict(headers or {}), None, lambda response: response)
            if response.status != 202:
                return response
            with response:
                self._await(json.loads(_read(response)))

    def _await(self, work: Dict[str, Any]) -> Dict[str, Any]:
        """Waits for work with files that takes longer than one request."""
        path = _path("/v1/submissions/{}/jobs/{}", work["submissionToken"], work["jobId"])
        while "dateCompleted" not in work:
            work = self._call("GET", path, headers={"EID": self._organisation(), "Prefer": f"wait={WAIT}"})
        if work["status"] != "Processed":
            raise MahiError(work.get("reason", "The files could not be read"))
        return work

    def _send(self, method: str, path: str, headers: Dict[str, Any], content: Optional[Content],
              read: Callable[[Any], Any]) -> Any:
        begun = time.monotonic()
        attempt = 0
        while True:
            given = {name: str(value) for name, value in headers.items() if value is not None}
            given.update(self._credential)
            given["Accept-Encoding"] = "gzip"
            try:
                with _Body(content) as data:
                    # Waiting for a worker takes longer than other responses.
                    timeout = self._deadline + (WAIT if "Prefer" in headers else 0)
                    request = urllib.request.Request(self._base + path, data.value, given, method=method)
                    if data.length is not None:
                        request.add_unredirected_header("Content-Length", str(data.length))
                    response = self._opener.open(request, timeout=timeout)
                result = read(response)
                self._last_run = _read_run(response.headers.get("ETag") or "")
                return result
            except urllib.error.HTTPError as error:
                with error:
                    current = _explain(error)
            except _CutOff as error:
                current = error
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                current = MahiError(f"No complete response from {self._base}: {reason}")
                current.__cause__ = error
            # After a lost connection a conflict passes too: an upload that was cut off holds its file for a moment.
            passing = current.status in (None, 429, 503) or (
                current.status == 409 and current.retry_after is not None and attempt > 0)
            pause = current.retry_after or min(8.0, 0.25 * 2 ** attempt) * random.uniform(0.5, 1)
            if not passing or not _repeats(content) or time.monotonic() - begun + pause >= self._deadline:
                raise current
            attempt += 1
            time.sleep(pause)

    def _organisation(self) -> str:
        if self._eid is None:
            raise ValueError("this operation needs the organisation: Client(…, eid=…)")
        return self._eid


def _read_run(etag: str) -> Optional[str]:
    match = re.match(r'(?:W/")?(r\d{1,15}\.[0-9a-z]+)-', etag)
    return match.group(1) if match else None


class _CutOff(MahiError):
    """A response that ended early. It passes: the same call may well succeed."""

    def __init__(self) -> None:
        super().__init__("The response was cut off: call again")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _Body:
    """What a request sends, opened for one attempt."""

    def __init__(self, content: Optional[Content]) -> None:
        self._content = content
        self._opened: Optional[BinaryIO] = None
        self.value: Any = None
        #: Bytes, where urllib cannot know them.
        self.length: Optional[int] = None

    def __enter__(self) -> _Body:
        content = self._content
        if isinstance(content, (str, os.PathLike)):
            self.value = self._opened = open(content, "rb")
            self.length = os.fstat(self._opened.fileno()).st_size
        else:
            self.value = content
        return self

    def __exit__(self, *_: Any) -> None:
        if self._opened is not None:
            self._opened.close()


def _repeats(content: Optional[Content]) -> bool:
    return content is None or isinstance(content, (bytes, str, os.PathLike))


def _path(template: str, *values: Any) -> str:
    """A path with its parts encoded. A part that would lead to another path is refused."""
    parts = []
    for value in values:
        text = str(value)
        if text in ("", ".", ".."):
            raise ValueError(f"{text!r} cannot be a part of a path")
        parts.append(urllib.parse.quote(text, safe=""))
    return template.format(*parts)


def _write_query(query: Mapping[str, Any]) -> str:
    pairs = [(name, _write(value)) for name, value in query.items() if value is not None]
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _write(value: Any) -> str:
    if isinstance(value, datetime):
        # A time without a zone is that of this machine.
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    return ",".join(str(each) for each in value)


def _chunks(response: Any) -> Iterator[bytes]:
    """The body of a response, decompressed. A body that was cut off is an error."""
    inflate = zlib.decompressobj(31) if response.headers.get("Content-Encoding") == "gzip" else None
    try:
        while True:
            chunk = response.read(65_536)
            if not chunk:
                break
            yield inflate.decompress(chunk) if inflate else chunk
    except (OSError, http.client.HTTPException, zlib.error) as error:
        raise _CutOff() from error
    # What is left of a length that was announced: read() does not report that it is missing.
    if getattr(response, "length", None) or (inflate and not inflate.eof):
        raise _CutOff()


def _read(response: Any) -> bytes:
    data = bytearray()
    for chunk in _chunks(response):
        data += chunk
        if len(data) > LONGEST_RESPONSE:
            raise MahiError(f"The response is longer than {LONGEST_RESPONSE} bytes")
    return bytes(data)


def _lines(response: Any) -> Iterator[Any]:
    """The records of newline-delimited JSON, one at a time."""
    with response:
        rest = b""
        for chunk in _chunks(response):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line:
                    yield json.loads(line)
        if rest:
            raise _CutOff()


def _explain(error: urllib.error.HTTPError) -> MahiError:
    try:
        problem = json.loads(_read(error))
    except (ValueError, MahiError):
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    title = problem.get("title", f"HTTP {error.code}")
    if error.code in range(300, 400):
        title = f"HTTP {error.code}: redirected to {error.headers.get('Location')}, which is not followed"
    detail = problem.get("detail")
    message = f"{title}: {detail}" if detail else str(title)
    return MahiError(message, status=error.code, problem=problem, retry_after=_retry_after(error.headers))


def _retry_after(headers: Any) -> Optional[float]:
    """Seconds according to Retry-After: a number, or a date (RFC 9110, section 10.2.3)."""
    value = headers.get("Retry-After", "")
    if value.isdigit():
        return float(value)
    try:
        at = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())


def _bytes(response: Any) -> Iterator[bytes]:
    """The body of a response, piece by piece."""
    with response:
        yield from _chunks(response)
