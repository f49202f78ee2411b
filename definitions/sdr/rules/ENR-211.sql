/*
code: ENR-211
file: enrolments
fields: [courseEndDate, courseCode]
relates: {course-completions: [studentIdentificationCode, courseCode, courseStartDate]}
severity: Warning
message: 'The enrolment ended on {courseEndDate}, but the course completion file has no outcome for it.'
many: enrolments ended, and have no outcome in the course completion file.
why: An enrolment without a completion counts as not completed in the performance indicators.
fix: 'Report the outcome, with the same student ID, course code and start date.'
source: http://www.tec.govt.nz/Resource-Centre/Software-tools/Data-Accuracy-Report-guidance/
basis: stated
examples:
  - name: 'ended before, on and after the as-of date'
    asOf: 2025-12-31
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: D }
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-03-01, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S1, courseCode: C, courseStartDate: 2025-03-01, courseEndDate: 2026-01-01 }
    finds: [1, 2]
  - name: 'other types, an unknown learner, and an outcome'
    asOf: 2025-12-31
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: D }
        - { studentIdentificationCode: S2, enrolmentType: B }
        - { studentIdentificationCode: S3, enrolmentType: E }
      enrolments:
        - { studentIdentificationCode: S2, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30 }
        - { studentIdentificationCode: S3, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30 }
        - { studentIdentificationCode: S0, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30 }
        - { studentIdentificationCode: S9, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30 }
      course-completions:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01 }
    finds: []
  - name: 'an outcome of another learner, course or start'
    asOf: 2025-12-31
    records:
      learners:
        - { studentIdentificationCode: S5, enrolmentType: D }
      enrolments:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, courseEndDate: 2025-11-30 }
      course-completions:
        - { studentIdentificationCode: S4, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: D, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: F, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-04-01 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-06-01 }
    finds: [1]
*/
select enrolments.row
from enrolments
where enrolments.courseEndDate <= :asOf
  and exists (
    select 1 from learners
    where learners.studentIdentificationCode = enrolments.studentIdentificationCode and learners.enrolmentType = 'D'
  )
  and not exists (
    select 1 from course_completions
    where course_completions.studentIdentificationCode = enrolments.studentIdentificationCode
      and course_completions.courseCode = enrolments.courseCode
      and course_completions.courseStartDate = enrolments.courseStartDate
  )
