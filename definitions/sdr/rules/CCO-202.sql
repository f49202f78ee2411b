/*
code: CCO-202
file: course-completions
fields: [courseEndDate]
severity: Error
message: 'The completion ends the course on {courseEndDate}, before the enrolment ends on {enrolmentEnd}.'
many: completions end the course before the enrolment ends.
why: The outcome of a course is reported after its end.
fix: 'Correct the end date in one of the two files, or report the withdrawal.'
source: https://github.com/unamelo/oh-no-sdr
basis: own
examples:
  - name: 'before, on and after the end'
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
      course-completions:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-29 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01, courseEndDate: 2025-07-01 }
    finds: [1]
  - name: a withdrawal
    records:
      enrolments:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-06-30, courseWithdrawalDate: 2025-06-01 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-06-01 }
    finds: []
  - name: 'an enrolment of another learner, course or start'
    records:
      enrolments:
        - { studentIdentificationCode: S4, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S5, courseCode: D, courseStartDate: 2025-05-01, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S5, courseCode: F, courseStartDate: 2025-05-01, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-04-01, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-06-01, courseEndDate: 2025-12-31 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-06-29 }
    finds: []
*/
select course_completions.row, enrolments.courseEndDate as enrolmentEnd
from course_completions
join enrolments on course_completions.studentIdentificationCode = enrolments.studentIdentificationCode
  and course_completions.courseCode = enrolments.courseCode
  and course_completions.courseStartDate = enrolments.courseStartDate
where course_completions.courseEndDate < enrolments.courseEndDate and enrolments.courseWithdrawalDate is null
