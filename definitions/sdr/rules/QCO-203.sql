/*
code: QCO-203
file: qualification-completions
fields: [yearRequirementsMet, qualificationCode]
relates: {enrolments: [studentIdentificationCode, qualificationCode]}
severity: Warning
message: 'yearRequirementsMet {yearRequirementsMet} is before the end of the last course on {lastEnd}.'
many: completions have yearRequirementsMet before the end of the last course.
why: A completion earlier than the last course of the qualification drops out of the performance indicators.
fix: 'Correct the year, or the end date of the course.'
source: http://www.tec.govt.nz/Resource-Centre/Software-tools/Data-Accuracy-Report-guidance/
basis: stated
examples:
  - name: 'before, on and after the end of the last course'
    records:
      enrolments:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, courseEndDate: 2024-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, courseEndDate: 2025-06-30 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, yearRequirementsMet: 2024 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, yearRequirementsMet: 2025 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, yearRequirementsMet: 2026 }
    finds: [1]
  - name: a course that the learner left
    records:
      enrolments:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, courseEndDate: 2025-06-30, courseWithdrawalDate: 2025-03-01 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, yearRequirementsMet: 2024 }
    finds: []
  - name: courses of other learners and qualifications
    records:
      enrolments:
        - { studentIdentificationCode: S4, qualificationCode: NZ0005, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S6, qualificationCode: NZ0005, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0004, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0006, courseEndDate: 2025-06-30 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005, yearRequirementsMet: 2024 }
    finds: []
*/
select row, lastEnd
from (
  select qualification_completions.row, qualification_completions.yearRequirementsMet as met, (
      select max(enrolments.courseEndDate)
      from enrolments
      where enrolments.studentIdentificationCode = qualification_completions.studentIdentificationCode
        and enrolments.qualificationCode = qualification_completions.qualificationCode
        and enrolments.courseWithdrawalDate is null
    ) as lastEnd
  from qualification_completions
)
where met < cast(substr(lastEnd, 1, 4) as integer)
