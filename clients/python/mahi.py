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

import contextlib
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

#: A page of the occupation catalogue.
OccupationPage = TypedDict("OccupationPage", {
    "nextCursor": "str", "currentCursor": "str", "totalCount": "int", "data": "List[OccupationRecord]",
    "resultsCount": "int", "missingCodes": "List[MissingOccupation]",
}, total=False)
#: One occupation. A field without a value is absent.
OccupationRecord = TypedDict("OccupationRecord", {
    "occupationCode": "str", "titleEnglish": "str", "titleMaori": "str", "titlePluralEnglish": "str",
    "titlePluralMaori": "str", "altJobTitlesEnglish": "List[str]", "altJobTitlesMaori": "List[str]",
    "descriptionEnglish": "str", "descriptionMaori": "str", "kaupapaDescriptionEnglish": "str",
    "kaupapaDescriptionMaori": "str", "detailedWorkActivitiesEnglish": "List[str]",
    "detailedWorkActivitiesMaori": "List[str]", "trainingDuration": "str", "lifeOnTheJobEnglish": "List[str]",
    "lifeOnTheJobMaori": "List[str]", "entryRequirements": "EntryRequirements",
    "minorGroups": "List[MinorGroupRelation]", "renumeration": "Renumeration",
    "registrationAuthority": "RegistrationAuthority", "lastUpdatedDate": "str",
}, total=False)
#: What is needed to enter the occupation.
EntryRequirements = TypedDict("EntryRequirements", {
    "entrySummaryEnglish": "str", "entrySummaryMaori": "str", "entryInSchoolEnglish": "str",
    "entryInSchoolMaori": "str", "entryYouNeedEnglish": "List[str]", "entryYouNeedMaori": "List[str]",
    "entryYouMayNeedEnglish": "List[str]", "entryYouMayNeedMaori": "List[str]",
}, total=False)
#: A minor group of an occupation, and how they are related.
MinorGroupRelation = TypedDict("MinorGroupRelation", {
    "minorGroupRelationType": "Literal['Primary', 'Secondary']", "minorGroup": "MinorGroup",
}, total=False)
#: A minor group.
MinorGroup = TypedDict("MinorGroup", {
    "code": "str", "nameEnglish": "str", "nameMaori": "str", "descriptionEnglish": "str", "tasks": "List[str]",
    "majorGroups": "List[MajorGroupRelation]",
}, total=False)
#: A major group of a minor group, and how they are related.
MajorGroupRelation = TypedDict("MajorGroupRelation", {
    "majorGroupRelationType": "Literal['Primary', 'Secondary']", "majorGroup": "MajorGroup",
}, total=False)
#: A major group.
MajorGroup = TypedDict("MajorGroup", {
    "code": "str", "nameEnglish": "str", "nameMaori": "str", "descriptionEnglish": "str",
}, total=False)
#: Annual pay figures, each at least as high as the one before. (The name is spelled so.)
Renumeration = TypedDict("Renumeration", {
    "payLowerBound": "float", "payMidLowerBound": "float", "payMidUpperBound": "float", "payUpperBound": "float",
}, total=False)
#: Who registers people in the occupation; present only where such an authority exists.
RegistrationAuthority = TypedDict("RegistrationAuthority", {
    "nameEnglish": "str", "nameMaori": "str", "email": "str", "telephone": "str", "websiteUrl": "str",
}, total=False)
#: A code that the catalogue does not have, and its successors.
MissingOccupation = TypedDict("MissingOccupation", {
    "occupationCode": "str", "removedDate": "str", "replacedBy": "List[str]",
}, total=False)
#: Major and minor groups, by code.
OccupationGroups = TypedDict("OccupationGroups", {
    "majorGroups": "List[OccupationMajorGroup]", "minorGroups": "List[OccupationMinorGroup]",
}, total=False)
#: A major group, with the number of its occupations.
OccupationMajorGroup = TypedDict("OccupationMajorGroup", {
    "code": "str", "nameEnglish": "str", "nameMaori": "str", "descriptionEnglish": "str", "primaryCount": "int",
    "totalCount": "int",
}, total=False)
#: A minor group, with the number of its occupations.
OccupationMinorGroup = TypedDict("OccupationMinorGroup", {
    "code": "str", "nameEnglish": "str", "nameMaori": "str", "descriptionEnglish": "str", "tasks": "List[str]",
    "majorGroups": "List[Dict[str, Any]]", "primaryCount": "int", "totalCount": "int",
}, total=False)
#: A page of changes of the catalogue.
OccupationChanges = TypedDict("OccupationChanges", {
    "next": "str", "delta": "str", "totalCount": "int", "revision": "int", "digest": "str",
    "changes": "List[OccupationChange]", "resultsCount": "int",
}, total=False)
#: A code that was created, updated or removed.
OccupationChange = TypedDict("OccupationChange", {
    "change": "Literal['created', 'updated', 'removed']", "occupationCode": "str", "record": "OccupationRecord",
    "removedDate": "str", "replacedBy": "List[str]",
}, total=False)
#: The latest revisions of the catalogue.
OccupationRevisions = TypedDict("OccupationRevisions", {
    "revisions": "List[OccupationRevision]",
}, total=False)
#: A revision of the catalogue.
OccupationRevision = TypedDict("OccupationRevision", {
    "revision": "int", "stored": "str", "command": "str", "files": "List[str]", "created": "int", "updated": "int",
    "removed": "int", "totalCount": "int", "readable": "bool", "payBasis": "str",
}, total=False)
#: How two revisions of the catalogue differ.
OccupationDifferences = TypedDict("OccupationDifferences", {
    "revision": "int", "since": "int", "differences": "List[OccupationDifference]", "complete": "bool", "next": "str",
}, total=False)
#: A record that differs between two revisions.
OccupationDifference = TypedDict("OccupationDifference", {
    "occupationCode": "str", "before": "OccupationRecord", "after": "OccupationRecord",
    "fields": "List[FieldDifference]", "replacedBy": "List[str]",
}, total=False)
#: A field that differs between two revisions. Lists are compared as a whole.
FieldDifference = TypedDict("FieldDifference", {
    "field": "str", "before": "Any", "after": "Any",
}, total=False)
#: A page of search results.
OccupationSearchPage = TypedDict("OccupationSearchPage", {
    "query": "str", "didYouMean": "str", "totalCount": "int", "results": "List[OccupationMatch]",
    "groups": "List[SearchGroupCount]",
}, total=False)
#: An occupation that a search found.
OccupationMatch = TypedDict("OccupationMatch", {
    "occupationCode": "str", "titleEnglish": "str", "titleMaori": "str", "matchedName": "str",
    "matchedLanguage": "Literal['en', 'mi']",
    "matchedField": "Literal['title', 'pluralTitle', 'alternativeTitle', 'searchOnly']",
    "highlights": "List[List[int]]", "score": "float", "group": "SearchGroup",
}, total=False)
#: The Primary major group of a found occupation.
SearchGroup = TypedDict("SearchGroup", {
    "code": "str", "nameEnglish": "str",
}, total=False)
#: A group and the number of its matching occupations.
SearchGroupCount = TypedDict("SearchGroupCount", {
    "code": "str", "nameEnglish": "str", "count": "int",
}, total=False)
#: Names that complete a query.
OccupationSuggestions = TypedDict("OccupationSuggestions", {
    "suggestions": "List[OccupationSuggestion]",
}, total=False)
#: A name that completes a query.
OccupationSuggestion = TypedDict("OccupationSuggestion", {
    "text": "str", "occupationCode": "str", "titleEnglish": "str", "language": "Literal['en', 'mi']",
    "highlights": "List[List[int]]",
}, total=False)
#: Occupation codes of job titles.
Codings = TypedDict("Codings", {
    "items": "List[Coding]",
}, total=False)
#: The occupation code of a job title.
Coding = TypedDict("Coding", {
    "id": "str", "code": "str", "certainty": "float", "candidates": "List[CodingCandidate]", "group": "CodingGroup",
    "error": "str",
}, total=False)
#: An occupation that a job title may mean.
CodingCandidate = TypedDict("CodingCandidate", {
    "occupationCode": "str", "titleEnglish": "str", "certainty": "float",
}, total=False)
#: The likeliest minor or major group, where there is no `code`.
CodingGroup = TypedDict("CodingGroup", {
    "code": "str", "nameEnglish": "str", "certainty": "float",
}, total=False)
#: Job titles, and what their reviewers have decided about them.
ReviewedCodings = TypedDict("ReviewedCodings", {
    "items": "List[ReviewedCoding]",
}, total=False)
#: A job title, and what its reviewers have decided about it.
ReviewedCoding = TypedDict("ReviewedCoding", {
    "id": "str", "title": "str", "language": "Literal['en', 'mi']",
    "state": "Literal['confirmed', 'disputed', 'unknown']", "occupationCode": "str",
    "decisions": "List[CodingDecision]", "missingCodes": "List[MissingOccupation]",
}, total=False)
#: A reviewer's decision about a job title.
CodingDecision = TypedDict("CodingDecision", {
    "reviewer": "str", "occupationCode": "str", "decidedDate": "str",
}, total=False)
#: A page of reviewed job titles.
ReviewedCodingPage = TypedDict("ReviewedCodingPage", {
    "nextCursor": "str", "items": "List[ReviewedCoding]", "resultsCount": "int",
}, total=False)
#: A page of the current validation results of a submission.
ValidationResultsPage = TypedDict("ValidationResultsPage", {
    "page": "int", "pageSize": "int", "results": "List[ValidationEntry]", "totalCount": "int",
}, total=False)
#: One error or warning about one record of a submitted file.
ValidationEntry = TypedDict("ValidationEntry", {
    "localId": "str", "errorCode": "str", "errorDescription": "str", "errorType": "Literal['Error', 'Warning']",
    "fileType": "Literal['Course', 'Enrolment', 'CourseCompletion', 'QualificationCompletion', 'Learner', 'Unknown']",
    "courseCode": "str", "studentId": "str", "recordText": "str",
}, total=False)
#: What the current run of a submission found, by code.
ResultsSummary = TypedDict("ResultsSummary", {
    "submissionToken": "str", "returnId": "str", "runId": "int", "errorCount": "int", "warningCount": "int",
    "totalCount": "int", "partial": "bool", "definition": "Dict[str, Any]", "codes": "List[Dict[str, Any]]",
    "notRun": "List[Dict[str, Any]]", "undecided": "List[Dict[str, Any]]",
}, total=False)
#: What to fix in a submission, in order.
ResultsCauses = TypedDict("ResultsCauses", {
    "submissionToken": "str", "runId": "int", "causes": "List[Cause]", "note": "str",
}, total=False)
#: What to fix, with the findings that disappear when it is fixed.
Cause = TypedDict("Cause", {
    "key": "str", "kind": "Literal['file', 'column', 'value', 'reference', 'record', 'rule']",
    "severity": "Literal['Error', 'Warning']", "file": "str", "field": "str", "value": "str", "codes": "List[str]",
    "findings": "int", "records": "int", "learners": "int", "sentence": "str", "fix": "str",
    "example": "Dict[str, Any]",
}, total=False)
#: How the findings of the current run and the one before differ.
ResultsChanges = TypedDict("ResultsChanges", {
    "from": "int", "to": "int", "newCount": "int", "fixedCount": "int", "openCount": "int", "page": "int",
    "pageSize": "int", "results": "List[Dict[str, Any]]", "totalCount": "int", "partial": "bool",
}, total=False)
#: A page of findings with their places.
FindingsPage = TypedDict("FindingsPage", {
    "runId": "int", "page": "int", "pageSize": "int", "results": "List[Finding]", "totalCount": "int",
    "columns": "List[Dict[str, Any]]",
}, total=False)
#: 
Finding = TypedDict("Finding", {
    "localId": "str", "errorCode": "str", "errorDescription": "str", "errorType": "Literal['Error', 'Warning']",
    "fileType": "Literal['Course', 'Enrolment', 'CourseCompletion', 'QualificationCompletion', 'Learner', 'Unknown']",
    "courseCode": "str", "studentId": "str", "recordText": "str", "file": "str", "line": "int", "field": "str",
    "value": "str", "findingKey": "str", "cause": "str",
}, total=False)
#: A page of the students with findings.
LearnersPage = TypedDict("LearnersPage", {
    "page": "int", "pageSize": "int", "results": "List[Dict[str, Any]]", "totalCount": "int",
}, total=False)
#: A submission.
Submission = TypedDict("Submission", {
    "submissionToken": "str", "tokenExpiry": "str", "reopenedUntil": "str", "returnId": "str", "returnName": "str",
    "notes": "str", "dueDate": "str", "closeWindowDate": "str", "eid": "str", "definition": "str",
    "submissionType": "Literal['Full', 'Indicative']",
    "submissionStatus": "Literal['Pending', 'Validating', 'Validated', 'Submitted', 'Cancelled', 'Closed']",
    "maxRecordPerBatch": "int", "dateCreated": "str", "files": "List[SubmissionFile]",
    "validationRun": "ValidationRun",
}, total=False)
#: The current state of a file.
SubmissionFile = TypedDict("SubmissionFile", {
    "fileType": "Literal['Course', 'Enrolment', 'CourseCompletion', 'QualificationCompletion', 'Learner', 'Unknown']",
    "file": "str", "records": "int", "bytes": "int", "sha256": "str", "received": "str", "batches": "int",
    "notes": "List[str]",
}, total=False)
#: A validation run of a submission.
ValidationRun = TypedDict("ValidationRun", {
    "runId": "int", "submissionToken": "str",
    "status": "Literal['Queued', 'InProgress', 'Processed', 'Halted', 'Cancelled', 'UnknownError']",
    "dateReceived": "str", "dateStarted": "str", "dateCompleted": "str", "errorCount": "int", "warningCount": "int",
    "stoppedCount": "int", "totalCount": "int", "partial": "bool", "progress": "Dict[str, Any]", "reason": "str",
    "files": "List[Dict[str, Any]]", "current": "bool",
}, total=False)
#: A page of an organisation's submissions.
SubmissionPage = TypedDict("SubmissionPage", {
    "page": "int", "pageSize": "int", "results": "List[Submission]", "totalCount": "int",
}, total=False)
#: A submitted submission and its receipt.
SubmittedSubmission = TypedDict("SubmittedSubmission", {
    "submissionToken": "str", "tokenExpiry": "str", "reopenedUntil": "str", "returnId": "str", "returnName": "str",
    "notes": "str", "dueDate": "str", "closeWindowDate": "str", "eid": "str", "definition": "str",
    "submissionType": "Literal['Full', 'Indicative']",
    "submissionStatus": "Literal['Pending', 'Validating', 'Validated', 'Submitted', 'Cancelled', 'Closed']",
    "maxRecordPerBatch": "int", "dateCreated": "str", "files": "List[SubmissionFile]",
    "validationRun": "ValidationRun", "receipt": "Receipt",
}, total=False)
#: What was submitted, by whom and when.
Receipt = TypedDict("Receipt", {
    "receipt": "int", "submissionToken": "str", "eid": "str", "returnId": "str", "returnName": "str",
    "submissionType": "Literal['Full', 'Indicative']", "dateSubmitted": "str", "submittedBy": "Actor",
    "statement": "str", "definition": "Dict[str, Any]", "runId": "int", "dateChecked": "str", "errorCount": "int",
    "warningCount": "int", "notRun": "List[Dict[str, Any]]", "files": "List[Dict[str, Any]]",
    "explanations": "List[Explanation]", "replaces": "Dict[str, Any]", "dateReopened": "str", "reopenedBy": "Actor",
    "reopenReason": "str", "earlier": "List[Dict[str, Any]]",
}, total=False)
#: Who did it.
Actor = TypedDict("Actor", {
    "id": "str", "name": "str",
}, total=False)
#: Why warnings are right.
Explanation = TypedDict("Explanation", {
    "target": "str", "kind": "Literal['code', 'cause']", "codes": "List[str]",
    "reason": "Literal['Verified', 'Agreed', 'Later', 'Other']", "text": "str",
    "state": "Literal['Explained', 'Reopened', 'NoFindings']", "findings": "int", "explainedFindings": "int",
    "reopened": "str", "runId": "int", "actor": "Actor", "time": "str",
}, total=False)
#: A page of what was done with a submission.
ActivityPage = TypedDict("ActivityPage", {
    "page": "int", "pageSize": "int", "results": "List[Activity]", "totalCount": "int",
}, total=False)
#: Something that was done with a submission.
Activity = TypedDict("Activity", {
    "time": "str",
    "event": "Literal['Created', 'FileUploaded', 'FileRepaired', 'RepairUndone', 'RecordsChanged', 'CheckRequested', 'CheckCancelled', 'Checked', 'Explained', 'ExplanationWithdrawn', 'Submitted', 'Reopened', 'Deleted', 'Downloaded', 'Expired', 'Purged']",
    "actor": "Actor", "file": "str", "runId": "int", "records": "int", "changes": "int", "digestBefore": "str",
    "digestAfter": "str", "errorCount": "int", "warningCount": "int", "stoppedCount": "int", "reopened": "int",
    "codes": "List[str]", "reason": "str", "receipt": "int", "until": "str", "files": "int", "findings": "int",
}, total=False)
#: The explanations of a submission, and the warnings that still need one.
ExplanationList = TypedDict("ExplanationList", {
    "submissionToken": "str", "runId": "int", "explanations": "List[Explanation]", "open": "List[Dict[str, Any]]",
}, total=False)
#: A page of returns.
ReturnPage = TypedDict("ReturnPage", {
    "page": "int", "pageSize": "int", "results": "List[OwnReturn]", "totalCount": "int",
}, total=False)
#: A return, and, unless an operator lists all, how far an organisation is with it.
OwnReturn = TypedDict("OwnReturn", {
    "returnId": "str", "name": "str", "definition": "str", "definitionVersion": "str",
    "returnType": "Literal['Full', 'Indicative']", "openWindowDate": "str", "dueDate": "str",
    "closeWindowDate": "str", "window": "Literal['NotOpen', 'Open', 'Overdue', 'Closed']", "timeZone": "str",
    "notes": "str", "eid": "str",
    "returnStatus": "Literal['NotStarted', 'FilesReceived', 'Validating', 'HasErrors', 'Incomplete', 'Ready', 'Submitted', 'Reopened']",
    "submissionToken": "str", "errorCount": "int", "warningCount": "int", "dateCreated": "str",
    "dateLastActivity": "str", "dateSubmitted": "str", "reopenedUntil": "str", "reopenReason": "str",
}, total=False)
#: How far all organisations are with a return.
ReturnOverview = TypedDict("ReturnOverview", {
    "return": "Return", "statuses": "Dict[str, Any]", "changes": "Dict[str, Any]", "page": "int", "pageSize": "int",
    "results": "List[Dict[str, Any]]", "totalCount": "int",
}, total=False)
#: A return that the service collects, for the agency.
Return = TypedDict("Return", {
    "returnId": "str", "name": "str", "definition": "str", "definitionVersion": "str",
    "returnType": "Literal['Full', 'Indicative']", "openWindowDate": "str", "dueDate": "str",
    "closeWindowDate": "str", "window": "Literal['NotOpen', 'Open', 'Overdue', 'Closed']", "timeZone": "str",
    "notes": "str", "organisations": "List[str]", "etag": "str",
}, total=False)
#: What the organisations have to fix in a return: counts only, no values.
ReturnCauses = TypedDict("ReturnCauses", {
    "returnId": "str", "causes": "List[Dict[str, Any]]",
}, total=False)
#: The files of an archive or a workbook.
SubmissionFiles = TypedDict("SubmissionFiles", {
    "files": "List[SubmissionFile]",
}, total=False)
#: Work with the files of a submission.
FileWork = TypedDict("FileWork", {
    "jobId": "str", "submissionToken": "str",
    "work": "Literal['upload', 'repair', 'preview', 'workbook', 'marked', 'corrected', 'csv', 'ndjson']",
    "file": "str", "status": "Literal['Queued', 'InProgress', 'Processed', 'Halted', 'Cancelled', 'UnknownError']",
    "dateReceived": "str", "dateCompleted": "str", "reason": "str", "changes": "int", "files": "List[SubmissionFile]",
}, total=False)
#: What a repair changes in the files of a submission.
Repairs = TypedDict("Repairs", {
    "submissionToken": "str", "changes": "int", "repairs": "List[Repair]", "left": "List[Repair]", "causes": "int",
    "clears": "List[str]", "causesLeft": "int", "etag": "str", "undoable": "bool", "files": "List[SubmissionFile]",
}, total=False)
#: Changes of one kind in one file.
Repair = TypedDict("Repair", {
    "file": "str", "field": "str", "why": "str", "records": "int", "examples": "List[RepairExample]",
    "clears": "List[str]",
}, total=False)
#: A change of a repair.
RepairExample = TypedDict("RepairExample", {
    "line": "int", "before": "str", "after": "str",
}, total=False)
#: The result of a batch.
BatchResult = TypedDict("BatchResult", {
    "submissionToken": "str", "content": "List[Dict[str, Any]]",
}, total=False)
#: The stored runs of a submission.
ValidationRunPage = TypedDict("ValidationRunPage", {
    "page": "int", "pageSize": "int", "results": "List[ValidationRun]", "totalCount": "int",
}, total=False)
#: All checks of a definition.
RuleCatalogue = TypedDict("RuleCatalogue", {
    "definition": "Dict[str, Any]", "definitions": "List[str]", "rules": "List[Rule]",
}, total=False)
#: A check of a definition.
Rule = TypedDict("Rule", {
    "code": "str", "severity": "str", "file": "str", "fileType": "str", "fields": "List[str]", "kind": "str",
    "message": "str", "why": "str", "fix": "str", "source": "str", "replaces": "str", "basis": "str", "since": "str",
    "until": "str", "status": "str", "needsExplanation": "bool",
}, total=False)
#: A check, and the definition that has it.
RuleOfDefinition = TypedDict("RuleOfDefinition", {
    "code": "str", "severity": "str", "file": "str", "fileType": "str", "fields": "List[str]", "kind": "str",
    "message": "str", "why": "str", "fix": "str", "source": "str", "replaces": "str", "basis": "str", "since": "str",
    "until": "str", "status": "str", "needsExplanation": "bool", "sql": "str", "examples": "List[Dict[str, Any]]",
    "definition": "Dict[str, Any]",
}, total=False)
#: The credential of a request.
Caller = TypedDict("Caller", {
    "id": "str", "clientId": "str", "scopes": "List[str]", "eids": "List[str]", "suspended": "List[str]",
    "expires": "str", "limits": "List[Dict[str, Any]]",
}, total=False)
#: What an operator sees at a glance.
Overview = TypedDict("Overview", {
    "version": "str", "database": "str", "submissions": "Dict[str, int]", "runs": "Dict[str, int]",
    "jobs": "List[OverviewJobs]", "keys": "List[OverviewKey]", "expiringKeys": "int", "refusals": "Dict[str, int]",
}, total=False)
#: The queued jobs of one kind.
OverviewJobs = TypedDict("OverviewJobs", {
    "kind": "str", "waiting": "int", "running": "int", "oldest": "str",
}, total=False)
#: An API key, without its secret.
OverviewKey = TypedDict("OverviewKey", {
    "id": "str", "client": "str", "scopes": "List[str]", "eids": "List[str]", "created": "str", "expires": "str",
    "revoked": "str", "used": "str",
}, total=False)
#: A page of organisations.
OrganisationPage = TypedDict("OrganisationPage", {
    "page": "int", "pageSize": "int", "results": "List[Organisation]", "totalCount": "int",
}, total=False)
#: An organisation that a key covers, that has submissions, or that is suspended.
Organisation = TypedDict("Organisation", {
    "eid": "str", "state": "Literal['Active', 'Suspended']", "suspended": "str", "reason": "str", "keys": "int",
    "submissions": "int", "fileBytes": "int", "runs": "int", "activeRuns": "int", "findings": "int",
}, total=False)

# --- end of types ---


class _Operations:
    """The operations of the service, one method each."""

    def _call(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              headers: Optional[Mapping[str, Any]] = None, body: Any = None,
              content: Optional[Content] = None) -> Any:
        raise NotImplementedError

    def _open(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              headers: Optional[Mapping[str, Any]] = None) -> Any:
        raise NotImplementedError

    # --- operations: written by clients/python/generate.ts ---

    def list_occupations(self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        major_group_code: Optional[str] = None, minor_group_code: Optional[str] = None,
        group_relation: Optional[Literal["Primary", "Any"]] = None, codes: Optional[Sequence[str]] = None, fields:
        Optional[Sequence[Literal["occupationCode", "titleEnglish", "titleMaori", "titlePluralEnglish",
        "titlePluralMaori", "altJobTitlesEnglish", "altJobTitlesMaori", "descriptionEnglish", "descriptionMaori",
        "kaupapaDescriptionEnglish", "kaupapaDescriptionMaori", "detailedWorkActivitiesEnglish",
        "detailedWorkActivitiesMaori", "trainingDuration", "lifeOnTheJobEnglish", "lifeOnTheJobMaori",
        "entryRequirements", "minorGroups", "renumeration", "registrationAuthority", "lastUpdatedDate"]]] = None,
        last_updated_after: Optional[Union[datetime, str]] = None,
        last_updated_before: Optional[Union[datetime, str]] = None) -> OccupationPage:
        """List occupations. A page of the occupation catalogue, ordered by occupation code. Follow `nextCursor` until
        it is absent."""
        return self._call("GET", "/v1/occupations", query={"Limit": limit, "Cursor": cursor,
            "Filter.MajorGroupCode": major_group_code, "Filter.MinorGroupCode": minor_group_code,
            "Filter.GroupRelation": group_relation, "Filter.Codes": codes, "Fields": fields,
            "Filter.LastUpdatedAfter": last_updated_after, "Filter.LastUpdatedBefore": last_updated_before})

    def get_occupation(self, code: str) -> OccupationRecord:
        """Get an occupation. The record of one occupation, byte for byte as in the list."""
        return self._call("GET", _path("/v1/occupations/{}", code))

    def list_occupation_groups(self) -> OccupationGroups:
        """List groups. Every major and minor group that an occupation belongs to, by code, with the number of its
        occupations."""
        return self._call("GET", "/v1/occupation-groups")

    def get_occupation_group(self, code: str) -> OccupationGroups:
        """Get a group. The major group with a code, the minor group with it, or both: the two kinds are numbered
        separately."""
        return self._call("GET", _path("/v1/occupation-groups/{}", code))

    def list_occupation_changes(self, *, since: Optional[str] = None,
        limit: Optional[int] = None) -> OccupationChanges:
        """List changes. The occupations that were created, updated or removed since a token, each once and in its
        newest state. Follow `next` until it is absent, then keep `delta` for the next time."""
        return self._call("GET", "/v1/occupations/changes", query={"Since": since, "Limit": limit})

    def get_occupation_snapshot(self) -> Iterator[Any]:
        """Get the whole catalogue. Every record of one revision as NDJSON, ordered by occupation code: a record on
        each line, as in the list. Continue with the change feed from the token in Delta-Token."""
        return _lines(self._open("GET", "/v1/occupations/snapshot"))

    def list_occupation_revisions(self, *, limit: Optional[int] = None) -> OccupationRevisions:
        """List revisions. The latest revisions of the catalogue, newest first, with their origins."""
        return self._call("GET", "/v1/occupation-revisions", query={"Limit": limit})

    def get_occupation_revision(self, revision: int, *, since: Optional[int] = None,
        after: Optional[str] = None) -> OccupationDifferences:
        """Compare revisions. The records that differ between a revision and the one before it, or another one."""
        return self._call("GET", _path("/v1/occupation-revisions/{}", revision), query={"Since": since,
            "After": after})

    def search_occupations(self, *, q: Optional[str] = None, lang: Optional[Literal["en", "mi"]] = None,
        major_group_code: Optional[str] = None, minor_group_code: Optional[str] = None,
        group_relation: Optional[Literal["Any", "Primary"]] = None, limit: Optional[int] = None,
        page: Optional[int] = None) -> OccupationSearchPage:
        """Search occupations. The occupations that a query may mean, best first. The search covers titles,
        alternative titles, search-only names, descriptions and tasks, and tolerates spelling mistakes and incomplete
        words."""
        return self._call("GET", "/v1/occupations/search", query={"q": q, "Lang": lang,
            "Filter.MajorGroupCode": major_group_code, "Filter.MinorGroupCode": minor_group_code,
            "Filter.GroupRelation": group_relation, "Limit": limit, "Page": page})

    def suggest_occupations(self, *, q: Optional[str] = None, lang: Optional[Literal["en", "mi"]] = None,
        limit: Optional[int] = None) -> OccupationSuggestions:
        """Suggest occupation names. Titles and alternative titles that complete what a user has typed so far."""
        return self._call("GET", "/v1/occupations/suggestions", query={"q": q, "Lang": lang, "Limit": limit})

    def code_titles(self, items: Sequence[Mapping[str, Any]]) -> Codings:
        """Code job titles. The occupation of each job title, with the probability that it is right. Where no code is
        more likely right than wrong, the response has the likeliest group instead."""
        return self._call("POST", "/v1/codings", body={"items": items})

    def confirm_codings(self, items: Sequence[Mapping[str, Any]]) -> ReviewedCodings:
        """Confirm codings. Stores what a reviewer has decided about job titles: the code, or that none is known. A
        decision replaces the earlier one of the same client, never that of another: if they disagree, the title is
        `disputed`. Confirmed titles become names of the search at the next revision of the catalogue."""
        return self._call("POST", "/v1/confirmed-codings", body={"items": items})

    def list_confirmed_codings(self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        state: Optional[Literal["confirmed", "disputed", "unknown"]] = None) -> ReviewedCodingPage:
        """List confirmed codings. The job titles that reviewers have decided about, in alphabetical order."""
        return self._call("GET", "/v1/confirmed-codings", query={"Limit": limit, "Cursor": cursor,
            "Filter.State": state})

    def withdraw_coding(self, id: str) -> ReviewedCodings:
        """Withdraw a decision. Withdraws the client's own decision about a job title. Those of other reviewers
        stay."""
        return self._call("DELETE", _path("/v1/confirmed-codings/{}", id))

    def get_validation_results(self, submission_token: str, *, page: Optional[int] = None,
        page_size: Optional[int] = None, error_type: Optional[Literal["Error", "Warning"]] = None, file_type:
        Optional[Literal["Course", "Enrolment", "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]]
        = None, error_code: Optional[str] = None, student_id: Optional[str] = None,
        course_code: Optional[str] = None) -> ValidationResultsPage:
        """Get validation results. A page of the current validation results of a submission, in the order they were
        published. Pages with ETags that begin alike, up to the hyphen, are of one run. Filters combine with AND. As
        `text/csv` or `application/x-ndjson`, all entries are streamed, as many as `Total-Count` says, each also with
        `file`, `line`, `field`, `value`, `findingKey` and `cause` if they are stored; where not all findings of the
        run are stored, `Found-Count` says how many it has. An error on the way ends the connection."""
        return self._call("GET", _path("/v1/submissions/{}/validation-results", submission_token),
            query={"page": page, "pageSize": page_size, "Filter.ErrorType": error_type, "Filter.FileType": file_type,
            "Filter.ErrorCode": error_code, "Filter.StudentId": student_id, "Filter.CourseCode": course_code},
            headers={"EID": self._organisation()})

    def get_validation_results_summary(self, submission_token: str) -> ResultsSummary:
        """Summarise validation results. What the current run found, by code, with exact totals, and the checks that
        could not run."""
        return self._call("GET", _path("/v1/submissions/{}/validation-results/summary", submission_token),
            headers={"EID": self._organisation()})

    def get_validation_results_causes(self, submission_token: str) -> ResultsCauses:
        """List the causes of validation results. What to fix, instead of every finding: each finding of the current
        run belongs to exactly one cause. A key is the same in other runs."""
        return self._call("GET", _path("/v1/submissions/{}/validation-results/causes", submission_token),
            headers={"EID": self._organisation()})

    def get_validation_results_changes(self, submission_token: str, *,
        status: Optional[Literal["new", "fixed", "open"]] = None, page: Optional[int] = None,
        page_size: Optional[int] = None) -> ResultsChanges:
        """Compare with the run before. The findings that are new, fixed and still open since the run before the
        current one, with exact totals."""
        return self._call("GET", _path("/v1/submissions/{}/validation-results/changes", submission_token),
            query={"status": status, "page": page, "pageSize": page_size}, headers={"EID": self._organisation()})

    def list_findings(self, submission_token: str, *, page: Optional[int] = None, page_size: Optional[int] = None,
        error_type: Optional[Literal["Error", "Warning"]] = None, file_type: Optional[Literal["Course", "Enrolment",
        "CourseCompletion", "QualificationCompletion", "Learner", "Unknown"]] = None,
        error_code: Optional[str] = None, student_id: Optional[str] = None, course_code: Optional[str] = None,
        cause: Optional[str] = None, only_new: Optional[bool] = None) -> FindingsPage:
        """List findings with their places. A page of the stored findings of the current run, each with its file,
        line, field, value and cause. Filters combine with AND; `Filter.Cause` selects those of one cause, and
        `onlyNew` those that the run before did not have."""
        return self._call("GET", _path("/v1/submissions/{}/validation-results/findings", submission_token),
            query={"page": page, "pageSize": page_size, "Filter.ErrorType": error_type, "Filter.FileType": file_type,
            "Filter.ErrorCode": error_code, "Filter.StudentId": student_id, "Filter.CourseCode": course_code,
            "Filter.Cause": cause, "onlyNew": only_new}, headers={"EID": self._organisation()})

    def list_learners(self, submission_token: str, *, page: Optional[int] = None,
        page_size: Optional[int] = None) -> LearnersPage:
        """List the learners with findings. The students of the current run with their numbers of stored findings,
        those with most first. `Filter.StudentId` of the findings shows those of one."""
        return self._call("GET", _path("/v1/submissions/{}/validation-results/learners", submission_token),
            query={"page": page, "pageSize": page_size}, headers={"EID": self._organisation()})

    def create_submission(self, return_id: str, *, definition: Optional[str] = None,
        type: Optional[Literal["Full", "Indicative"]] = None) -> Submission:
        """Create a submission. Creates a submission for a return, or returns the open submission of the organisation
        for that return."""
        return self._call("POST", "/v1/submissions", headers={"EID": self._organisation()},
            body={"returnId": return_id, "definition": definition, "type": type})

    def list_submissions(self, *, page: Optional[int] = None, page_size: Optional[int] = None) -> SubmissionPage:
        """List submissions. The submissions of the organisation, newest first."""
        return self._call("GET", "/v1/submissions", query={"page": page, "pageSize": page_size},
            headers={"EID": self._organisation()})

    def get_submission(self, submission_token: str) -> Submission:
        """Get a submission. The state of a submission, its files, and its last validation run."""
        return self._call("GET", _path("/v1/submissions/{}", submission_token),
            headers={"EID": self._organisation()})

    def delete_submission(self, submission_token: str) -> Submission:
        """Delete a submission. Cancels a submission and deletes all its records and findings. They are unreadable at
        once, and a job removes them from the database. The token remains known as Cancelled."""
        return self._call("DELETE", _path("/v1/submissions/{}", submission_token),
            headers={"EID": self._organisation()})

    def submit_submission(self, submission_token: str) -> SubmittedSubmission:
        """Submit a submission. Freezes a submission, and returns its receipt. The current run must cover the current
        files, have made every check whose findings must be fixed or explained, and have found no errors. A check
        whose file or column is absent is not needed if the definition permits that. Warnings are allowed; those that
        the definition wants explained must have an explanation."""
        return self._call("POST", _path("/v1/submissions/{}/submit", submission_token),
            headers={"EID": self._organisation()})

    def list_submission_activity(self, submission_token: str, *, page: Optional[int] = None,
        page_size: Optional[int] = None) -> ActivityPage:
        """List what was done with a submission. Who created, uploaded, repaired, checked, explained, submitted,
        reopened, deleted or downloaded what, newest first. It is kept as long as the record of the submission, also
        after its data was deleted, and contains no data of learners. As `application/x-ndjson`, the whole list is
        streamed."""
        return self._call("GET", _path("/v1/submissions/{}/activity", submission_token), query={"page": page,
            "pageSize": page_size}, headers={"EID": self._organisation()})

    def list_explanations(self, submission_token: str) -> ExplanationList:
        """List the explanations of a submission. Why warnings are right, whether each explanation still holds for the
        current run, and which warnings must be explained before the submission."""
        return self._call("GET", _path("/v1/submissions/{}/explanations", submission_token),
            headers={"EID": self._organisation()})

    def get_explanation(self, submission_token: str, target: str) -> Explanation:
        """Get an explanation. Why the warnings with a code, or of a cause, are right."""
        return self._call("GET", _path("/v1/submissions/{}/explanations/{}", submission_token, target),
            headers={"EID": self._organisation()})

    def put_explanation(self, submission_token: str, target: str,
        reason: Literal["Verified", "Agreed", "Later", "Other"], *, text: Optional[str] = None) -> Explanation:
        """Explain warnings. Says why the warnings with a code, or of a cause, are right. It replaces an earlier
        explanation of the same, and holds in later runs until they have more than 10 % or 5 more findings, whichever
        is larger."""
        return self._call("PUT", _path("/v1/submissions/{}/explanations/{}", submission_token, target),
            headers={"EID": self._organisation()}, body={"reason": reason, "text": text})

    def delete_explanation(self, submission_token: str, target: str) -> ExplanationList:
        """Withdraw an explanation. Withdraws the explanation of a code or a cause. The activities keep that there was
        one."""
        return self._call("DELETE", _path("/v1/submissions/{}/explanations/{}", submission_token, target),
            headers={"EID": self._organisation()})

    def get_submission_receipt(self, submission_token: str, *, number: Optional[int] = None) -> Receipt:
        """Get the receipt of a submission. What was submitted, by whom and when: the files with their digests, the
        definition and its version, the run with its counts, and the explanations. A reopened submission keeps its
        receipts."""
        return self._call("GET", _path("/v1/submissions/{}/receipt", submission_token), query={"number": number},
            headers={"EID": self._organisation()})

    def reopen_submission(self, submission_token: str, reason: str, *, until: Optional[str] = None) -> Submission:
        """Reopen a submission. Opens a submitted submission again, so that its organisation can change and submit it
        again. Its receipts and activities remain. It is for the collecting agency; no EID is needed."""
        return self._call("POST", _path("/v1/submissions/{}/reopen", submission_token), body={"reason": reason,
            "until": until})

    def list_returns(self, *, page: Optional[int] = None, page_size: Optional[int] = None,
        include_indicative: Optional[bool] = None) -> ReturnPage:
        """List returns. The returns that the service collects from the organisation, with their dates and how far the
        organisation is with each. Without the header EID, a credential with the scope operate lists all returns,
        without the state of an organisation. Empty if the service collects every return."""
        return self._call("GET", "/v1/returns", query={"page": page, "pageSize": page_size,
            "includeIndicative": include_indicative}, headers={"EID": self._eid})

    def get_return_overview(self, return_id: str, *, status: Optional[Literal["NotStarted", "FilesReceived",
        "Validating", "HasErrors", "Incomplete", "Ready", "Submitted", "Reopened"]] = None,
        page: Optional[int] = None, page_size: Optional[int] = None) -> ReturnOverview:
        """Show how far all organisations are with a return. For the collecting agency: the organisations that have
        not started, have errors, are ready or have submitted, and what changed in the last 24 hours. Without a list
        of organisations, those of valid keys that may submit are expected, unless they are suspended. No EID is
        needed."""
        return self._call("GET", _path("/v1/returns/{}/overview", return_id), query={"status": status,
            "page": page, "pageSize": page_size})

    def get_return_causes(self, return_id: str) -> ReturnCauses:
        """List the most frequent causes of a return. For the collecting agency: what most organisations have to fix,
        by the current runs of their submissions. Counts only: no values, and no data of learners. No EID is
        needed."""
        return self._call("GET", _path("/v1/returns/{}/causes", return_id))

    def put_return(self, return_id: str, name: str, definition: str, opens: str, closes: str, *,
        if_match: Optional[str] = None, if_none_match: Optional[str] = None, version: Optional[str] = None,
        type: Optional[Literal["Full", "Indicative"]] = None, due: Optional[str] = None,
        organisations: Optional[Sequence[Mapping[str, Any]]] = None, notes: Optional[str] = None) -> Return:
        """Describe a return. For the collecting agency: adds a return, or replaces the one with this id, after the
        checks of `mahi returns import`. A return is replaced by another one only with `If-Match`. If anything is
        wrong, nothing is stored, and the detail names the mistakes. No EID is needed."""
        return self._call("PUT", _path("/v1/returns/{}", return_id), headers={"If-Match": if_match,
            "If-None-Match": if_none_match}, body={"name": name, "definition": definition, "version": version,
            "type": type, "opens": opens, "due": due, "closes": closes, "organisations": organisations,
            "notes": notes})

    def put_submission_files(self, submission_token: str, content: Content, *, prefer: Optional[str] = None,
        content_digest: Optional[str] = None, content_type: Optional[str] = None) -> SubmissionFiles:
        """Upload an archive or a workbook. Replaces files of a submission by those in a ZIP archive, or by the sheets
        of a workbook (XLSX). Each is recognised by its name, as `mahi check` does; files of the submission that are
        not in it stay. `notes` say what was guessed, and those of the first file also what was not read. All files
        are replaced at once: if one is refused, none is. A worker reads them: the response is 202 if that takes
        longer than the caller waits."""
        return self._call("PUT", _path("/v1/submissions/{}/files", submission_token),
            headers={"EID": self._organisation(), "Prefer": prefer, "Content-Digest": content_digest,
            "Content-Type": content_type or "application/zip"}, content=content)

    def put_submission_file(self, submission_token: str, file_type: str, content: Content, *,
        prefer: Optional[str] = None, content_digest: Optional[str] = None, if_match: Optional[str] = None,
        if_none_match: Optional[str] = None, content_type: Optional[str] = None) -> SubmissionFile:
        """Upload a file. Replaces a whole file of a submission. Whatever `mahi check` reads is accepted: any
        separator, UTF-8, UTF-16, Windows-1252 and the encoding that the definition states, gzip, columns in another
        spelling, a ZIP archive with only this file, and a workbook (XLSX) with only this sheet. It is stored as
        UTF-8; `notes` say what was guessed, whether the first line is not the header of this file, and whether it has
        no records. Faulty records become findings of the next validation run. The previous file stays until the
        upload has been read, which a worker does: the response is 202 if that takes longer than the caller waits."""
        return self._call("PUT", _path("/v1/submissions/{}/files/{}", submission_token, file_type),
            headers={"EID": self._organisation(), "Prefer": prefer, "Content-Digest": content_digest,
            "If-Match": if_match, "If-None-Match": if_none_match, "Content-Type": content_type or "text/csv"},
            content=content)

    def get_submission_file(self, submission_token: str, file_type: str, *,
        prefer: Optional[str] = None) -> Iterator[bytes]:
        """Get a file. The current file of a submission: the uploaded one, or the records of all batches. A worker
        renders it in the other format: the response is 202 if that takes longer than the caller waits. Send its ETag
        as If-Match with the next upload. An error during the download closes the connection."""
        return _bytes(self._open("GET", _path("/v1/submissions/{}/files/{}", submission_token, file_type),
            headers={"EID": self._organisation(), "Prefer": prefer}))

    def get_marked_files(self, submission_token: str, *, format: Optional[Literal["xlsx", "csv"]] = None,
        prefer: Optional[str] = None) -> Iterator[bytes]:
        """Get the files with their findings marked. Copies of the current files of a submission with the findings
        beside each row: one workbook with coloured cells, or CSV files in a ZIP archive. A worker checks the files
        for it: the response is 202 if that takes longer than the caller waits. Ask again when the work has ended;
        what was made is kept for an hour, unless the files change."""
        return _bytes(self._open("GET", _path("/v1/submissions/{}/marked-files", submission_token),
            query={"format": format}, headers={"EID": self._organisation(), "Prefer": prefer}))

    def get_corrected_files(self, submission_token: str, *, prefer: Optional[str] = None) -> Iterator[bytes]:
        """Get corrected copies of the files. Copies of the current files of a submission, in a ZIP archive, in which
        every fault with only one possible repair is corrected, and `mahi-changes.csv`, which lists each change. The
        submission does not change: upload the copies to use them. The response is 202 if a worker needs longer than
        the caller waits."""
        return _bytes(self._open("GET", _path("/v1/submissions/{}/corrected-files", submission_token),
            headers={"EID": self._organisation(), "Prefer": prefer}))

    def get_repairs(self, submission_token: str, *, prefer: Optional[str] = None) -> Repairs:
        """Preview the repair of the files. What a repair of the current files would change: every fault with only one
        possible repair, by whole columns. Nothing changes. A worker finds it out: the response is 202 if that takes
        longer than the caller waits."""
        return self._call("GET", _path("/v1/submissions/{}/repairs", submission_token),
            headers={"EID": self._organisation(), "Prefer": prefer})

    def repair_files(self, submission_token: str, *, prefer: Optional[str] = None,
        if_match: Optional[str] = None) -> Repairs:
        """Repair the files. Replaces files by new versions in which every fault with only one possible repair is
        corrected, as `mahi check --fix` does. A column that contradicts itself stays as it is. If `changes` is 0,
        there was nothing to repair, and nothing has changed. Request a validation run afterwards. The response is 202
        if a worker needs longer than the caller waits."""
        return self._call("POST", _path("/v1/submissions/{}/repairs", submission_token),
            headers={"EID": self._organisation(), "Prefer": prefer, "If-Match": if_match})

    def undo_repairs(self, submission_token: str) -> SubmissionFiles:
        """Undo the last repair. Restores the files as they were before the last repair. That is possible until a file
        changes or the submission is submitted."""
        return self._call("DELETE", _path("/v1/submissions/{}/repairs", submission_token),
            headers={"EID": self._organisation()})

    def get_file_work(self, submission_token: str, job_id: str, *, prefer: Optional[str] = None) -> FileWork:
        """Get the state of work with files. The state of an upload that is read, or of copies that are made. `Prefer:
        wait=30` delays the response until the work has ended, for at most that many seconds. An hour after it was
        last used, the work is forgotten. The scope `submissions:write` is enough, too."""
        return self._call("GET", _path("/v1/submissions/{}/jobs/{}", submission_token, job_id),
            headers={"EID": self._organisation(), "Prefer": prefer})

    def add_submission_records(self, submission_token: str, file_type: str,
        content: Sequence[Mapping[str, Any]]) -> BatchResult:
        """Add or replace records. Adds a batch of records to a file that is built from batches; an uploaded file is
        replaced as a whole. A record replaces the earlier one with the same `localId`; within a batch, the last one
        applies."""
        return self._call("POST", _path("/v1/submissions/{}/records/{}", submission_token, file_type),
            headers={"EID": self._organisation()}, body={"content": content})

    def delete_submission_records(self, submission_token: str, file_type: str,
        content: Sequence[Mapping[str, Any]]) -> BatchResult:
        """Delete records. Deletes the records of a file that have the given `localId`s."""
        return self._call("DELETE", _path("/v1/submissions/{}/records/{}", submission_token, file_type),
            headers={"EID": self._organisation()}, body={"content": content})

    def request_validation_run(self, submission_token: str) -> ValidationRun:
        """Request a validation run. Queues a run of the current files. While a run is queued or in progress, returns
        that run instead. Location has the URL of its state; `Prefer: wait=30` delays that response until the run has
        ended."""
        return self._call("POST", _path("/v1/submissions/{}/validation-runs", submission_token),
            headers={"EID": self._organisation()})

    def list_validation_runs(self, submission_token: str) -> ValidationRunPage:
        """List validation runs. The stored runs of a submission, newest first."""
        return self._call("GET", _path("/v1/submissions/{}/validation-runs", submission_token),
            headers={"EID": self._organisation()})

    def get_validation_run(self, submission_token: str, run_id: int, *,
        prefer: Optional[str] = None) -> ValidationRun:
        """Get a validation run. The state of a run. `Prefer: wait=30` delays the response until the run has ended,
        for at most that many seconds."""
        return self._call("GET", _path("/v1/submissions/{}/validation-runs/{}", submission_token, run_id),
            headers={"EID": self._organisation(), "Prefer": prefer})

    def cancel_validation_run(self, submission_token: str, run_id: int) -> ValidationRun:
        """Cancel a validation run. Cancels a run that is queued or in progress. A finished run does not change."""
        return self._call("DELETE", _path("/v1/submissions/{}/validation-runs/{}", submission_token, run_id),
            headers={"EID": self._organisation()})

    def list_rules(self, *, definition: Optional[str] = None) -> RuleCatalogue:
        """List rules. All checks of a definition, with their reasons and remedies. No EID is needed."""
        return self._call("GET", "/v1/rules", query={"definition": definition})

    def get_rule(self, code: str, *, definition: Optional[str] = None) -> RuleOfDefinition:
        """Get a rule. One check of a definition. No EID is needed."""
        return self._call("GET", _path("/v1/rules/{}", code), query={"definition": definition})

    def get_caller(self) -> Caller:
        """Describe the credential. The client, scopes, organisations, expiry and rate limits of the credential in the
        request. With the header EID, the remaining requests are those for that organisation."""
        return self._call("GET", "/v1/me", headers={"EID": self._eid})

    def get_overview(self) -> Overview:
        """Show the state of the service. The queue, the keys without their secrets, and counts, for operators."""
        return self._call("GET", "/v1/overview")

    def list_organisations(self, *, page: Optional[int] = None,
        page_size: Optional[int] = None) -> OrganisationPage:
        """List organisations. The organisations that keys cover, that have submissions, or that are suspended, with
        what is stored for each."""
        return self._call("GET", "/v1/organisations", query={"page": page, "pageSize": page_size})

    def get_organisation(self, eid: str) -> Organisation:
        """Show the usage of an organisation. What is stored for an organisation."""
        return self._call("GET", _path("/v1/organisations/{}", eid))

    def suspend_organisation(self, eid: str, *, reason: Optional[str] = None) -> Organisation:
        """Suspend an organisation. Refuses every request for the data of an organisation, with any credential, until
        it is resumed, and cancels its runs that are queued or in progress. Nothing is deleted."""
        return self._call("PUT", _path("/v1/organisations/{}/suspension", eid), body={"reason": reason})

    def resume_organisation(self, eid: str) -> Organisation:
        """Resume an organisation. Ends the suspension of an organisation. One that is not suspended does not change.
        Cancelled runs are not started again."""
        return self._call("DELETE", _path("/v1/organisations/{}/suspension", eid))

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

    def _open(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              headers: Optional[Mapping[str, Any]] = None) -> Any:
        while True:
            response = self._send(method, path + _write_query(query or {}), dict(headers or {}), None, lambda response: response)
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
                with _opened(content) as (data, length):
                    # Waiting for a worker takes longer than other responses.
                    timeout = self._deadline + (WAIT if "Prefer" in headers else 0)
                    request = urllib.request.Request(self._base + path, data, given, method=method)
                    if length is not None:
                        request.add_unredirected_header("Content-Length", str(length))
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


@contextlib.contextmanager
def _opened(content: Optional[Content]) -> Iterator[Any]:
    """What a request sends, opened for one attempt, and its length in bytes where urllib cannot know it."""
    if isinstance(content, (str, os.PathLike)):
        with open(content, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    else:
        yield content, None


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
