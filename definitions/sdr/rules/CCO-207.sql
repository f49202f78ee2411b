/*
code: CCO-207
file: course-completions
fields: [completionIndicator]
severity: Warning
message: 'The enrolment has source of funding 31 (withdrawn before 10%), but the outcome is {completionIndicator}.'
many: completions have an outcome other than 4 (withdrawn), but their enrolments have source of funding 31.
why: The outcome of an enrolment with source of funding 31 is 4 (withdrawn).
fix: Correct the outcome or the source of funding.
source: https://learn.wisenet.co/funding-source-code-31-for-sdr/
basis: stated
examples:
  - name: other outcomes
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S1, courseCode: D, courseStartDate: 2025-03-01, sourceOfFunding: 32 }
        - { studentIdentificationCode: S1, courseCode: E, courseStartDate: 2025-03-01, sourceOfFunding: 01 }
      course-completions:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, completionIndicator: 1 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01, completionIndicator: 5 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01, completionIndicator: 4 }
        - { studentIdentificationCode: S1, courseCode: D, courseStartDate: 2025-03-01, completionIndicator: 1 }
        - { studentIdentificationCode: S1, courseCode: E, courseStartDate: 2025-03-01, completionIndicator: 1 }
    finds: [1, 2]
  - name: 'an enrolment of another learner, course or start'
    records:
      enrolments:
        - { studentIdentificationCode: S4, courseCode: E, courseStartDate: 2025-05-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S5, courseCode: D, courseStartDate: 2025-05-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S5, courseCode: F, courseStartDate: 2025-05-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-04-01, sourceOfFunding: 31 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-06-01, sourceOfFunding: 31 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, completionIndicator: 1 }
    finds: []
*/
select course_completions.row
from course_completions
join enrolments on course_completions.studentIdentificationCode = enrolments.studentIdentificationCode
  and course_completions.courseCode = enrolments.courseCode
  and course_completions.courseStartDate = enrolments.courseStartDate
where enrolments.sourceOfFunding = '31' and course_completions.completionIndicator <> '4'
