/*
code: CCO-206
file: course-completions
fields: [completionIndicator]
severity: Warning
message: 'The outcome is 4 (withdrawn), but the enrolment has no withdrawal date.'
many: completions have outcome 4 (withdrawn), but their enrolments have no withdrawal date.
why: The two files contradict each other.
fix: 'Enter the withdrawal date in the enrolment, or correct the outcome.'
source: https://learn.wisenet.co/funding-source-code-31-for-sdr/
basis: inferred
examples:
  - name: 'withdrawn, and not'
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01 }
        - { studentIdentificationCode: S1, courseCode: D, courseStartDate: 2025-03-01, courseWithdrawalDate: 2025-04-01 }
      course-completions:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, completionIndicator: 4 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01, completionIndicator: 3 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01, completionIndicator: 5 }
        - { studentIdentificationCode: S1, courseCode: D, courseStartDate: 2025-03-01, completionIndicator: 4 }
    finds: [1]
  - name: 'an enrolment of another learner, course or start'
    records:
      enrolments:
        - { studentIdentificationCode: S4, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: D, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: F, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-04-01 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-06-01 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, completionIndicator: 4 }
    finds: []
*/
select course_completions.row
from course_completions
join enrolments on course_completions.studentIdentificationCode = enrolments.studentIdentificationCode
  and course_completions.courseCode = enrolments.courseCode
  and course_completions.courseStartDate = enrolments.courseStartDate
where course_completions.completionIndicator = '4' and enrolments.courseWithdrawalDate is null
