/*
code: ENR-201
file: enrolments
fields: [courseStartDate, courseCode]
relates: {enrolments: [studentIdentificationCode, courseCode]}
severity: Error
message: 'The enrolment starts on {courseStartDate}, before an earlier one in {courseCode} ended on {ended}.'
many: enrolments start before an earlier one of the learner in the course ended.
why: A learner cannot be enrolled twice in one course at the same time. The study load would count twice.
fix: 'Correct the dates, or remove one of the two enrolments.'
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-01968
basis: own
examples:
  - name: 'overlaps, touches and follows'
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-05-01, courseEndDate: 2025-05-31 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-06-30, courseEndDate: 2025-08-31 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-09-01, courseEndDate: 2025-11-30 }
    finds: [2, 3]
  - name: starts again after a withdrawal
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-11-30, courseWithdrawalDate: 2025-04-30 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-05-01, courseEndDate: 2025-11-30 }
    finds: []
  - name: 'another learner, another course, an unknown one'
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S2, courseCode: A, courseStartDate: 2025-04-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S1, courseCode: B, courseStartDate: 2025-04-01, courseEndDate: 2025-06-30 }
        - { courseCode: C, courseStartDate: 2025-04-01, courseEndDate: 2025-06-30 }
        - { courseCode: C, courseStartDate: 2025-05-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S3, courseStartDate: 2025-04-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S3, courseStartDate: 2025-05-01, courseEndDate: 2025-06-30 }
    finds: []
  - name: 'the same start is a duplicate, not an overlap'
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
    finds: []
  - name: 'a start or an end that is not known'
    records:
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, courseEndDate: 2025-12-31 }
        - { studentIdentificationCode: S1, courseCode: A, courseStartDate: 2025-03-01, courseEndDate: 2025-06-30 }
        - { studentIdentificationCode: S2, courseCode: A, courseStartDate: 2025-03-01 }
        - { studentIdentificationCode: S2, courseCode: A, courseStartDate: 2025-04-01, courseEndDate: 2025-06-30 }
    finds: []
*/
select row, ended
from (
  select row, courseStartDate,
    max(coalesce(courseWithdrawalDate, courseEndDate)) over (
      partition by studentIdentificationCode, courseCode
      order by courseStartDate
      groups between unbounded preceding and 1 preceding
    ) as ended
  from enrolments
  -- Few learners repeat a course; the others need no sorting.
  where courseStartDate is not null and (studentIdentificationCode, courseCode) in (
    select studentIdentificationCode, courseCode
    from enrolments
    group by studentIdentificationCode, courseCode
    having min(row) <> max(row)
  )
)
where courseStartDate <= ended
