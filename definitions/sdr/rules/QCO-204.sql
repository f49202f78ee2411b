/*
code: QCO-204
file: qualification-completions
fields: [qualificationCompletionDate, qualificationCode]
relates: {enrolments: [studentIdentificationCode, qualificationCode]}
severity: Warning
message: 'qualificationCompletionDate {qualificationCompletionDate} is before the end of the last course on {lastEnd}.'
many: completions have a date before the end of the last course.
why: A completion earlier than the last course of the qualification drops out of the performance indicators.
fix: 'Correct the completion date, or the end date of the course.'
source: http://www.tec.govt.nz/Resource-Centre/Software-tools/Data-Accuracy-Report-guidance/
basis: inferred
examples:
  - name: 'before, on and after the end of the last course'
    records:
      enrolments:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, courseEndDate: 2024-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, courseEndDate: 2025-06-30 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, qualificationCompletionDate: 2025-06-29 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, qualificationCompletionDate: 2025-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, qualificationCompletionDate: 2025-07-01 }
    finds: [1]
  - name: a course that the learner left
    records:
      enrolments:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, courseEndDate: 2025-06-30, courseWithdrawalDate: 2025-03-01 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, qualificationCompletionDate: 2025-06-29 }
    finds: []
  - name: courses of other learners and qualifications
    records:
      enrolments:
        - { studentIdentificationCode: S4, qualificationCode: NZ0005, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S6, qualificationCode: NZ0005, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0004, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0006, courseEndDate: 2025-06-30 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, qualificationCompletionDate: 2025-06-29 }
    finds: []
*/
select row, lastEnd
from (
  select qualification_completions.row, qualification_completions.qualificationCompletionDate as completed, (
      select max(enrolments.courseEndDate)
      from enrolments
      where enrolments.studentIdentificationCode = qualification_completions.studentIdentificationCode
        and enrolments.qualificationCode = qualification_completions.qualificationCode
        and enrolments.courseWithdrawalDate is null
    ) as lastEnd
  from qualification_completions
)
where completed < lastEnd
