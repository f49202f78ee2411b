/*
code: CCO-201
file: course-completions
fields: [courseCode, courseStartDate]
relates: {enrolments: [studentIdentificationCode, courseCode, courseStartDate]}
severity: Error
message: 'No enrolment of the learner in {courseCode} starts on {courseStartDate}.'
many: completions have no enrolment of the learner in the course that starts on their date.
why: 'A completion in the return year belongs to an enrolment of the return. Without it, the outcome cannot be counted.'
fix: 'Correct the completion''s student ID, course code or start date, or add the enrolment.'
source: https://github.com/unamelo/oh-no-sdr
basis: inferred
examples:
  - name: ends before and in the return year
    return: 202512
    records:
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-11-30 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-01-01 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2024-01-01, courseEndDate: 2025-01-01 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2024-03-01, courseEndDate: 2024-12-31 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2024-03-01 }
    finds: [1, 2, 3]
  - name: 'an enrolment, or no student or course'
    return: 202512
    records:
      enrolments:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-11-30 }
        - { courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseStartDate: 2025-05-01 }
    finds: []
  - name: 'an enrolment of another learner, course or start'
    return: 202512
    records:
      enrolments:
        - { studentIdentificationCode: S4, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: D, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: F, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-04-01 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-06-01 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-11-30 }
    finds: [1]
*/
select row
from course_completions
-- The enrolment in a course that ended before the return year is part of an earlier return.
where coalesce(courseEndDate, courseStartDate) >= :returnStart
  and studentIdentificationCode is not null and courseCode is not null
  and not exists (
    select 1 from enrolments
    where enrolments.studentIdentificationCode = course_completions.studentIdentificationCode
      and enrolments.courseCode = course_completions.courseCode
      and enrolments.courseStartDate = course_completions.courseStartDate
  )
