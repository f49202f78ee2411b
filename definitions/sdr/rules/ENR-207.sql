/*
code: ENR-207
file: enrolments
fields: [courseWithdrawalDate, sourceOfFunding]
severity: Warning
message: 'The learner withdrew on {courseWithdrawalDate}, {elapsed} of {days} days into the course. Source of funding 31 is for withdrawals before 10%.'
many: 'enrolments have source of funding 31, but the learner did not withdraw before 10% of the course.'
why: 'Source of funding 31 is for confirmed enrolments that were withdrawn after the refund date and before 10% of the course.'
fix: Correct the withdrawal date or the source of funding.
source: https://learn.wisenet.co/funding-source-code-31-for-sdr/
basis: inferred
examples:
  - name: 'at, after and before 10 of 100 days'
    records:
      enrolments:
        - { sourceOfFunding: 31, courseStartDate: 2025-03-01, courseEndDate: 2025-06-08, courseWithdrawalDate: 2025-03-11 }
        - { sourceOfFunding: 31, courseStartDate: 2025-03-01, courseEndDate: 2025-06-08, courseWithdrawalDate: 2025-04-01 }
        - { sourceOfFunding: 31, courseStartDate: 2025-03-01, courseEndDate: 2025-06-08, courseWithdrawalDate: 2025-03-10 }
    finds: [1, 2]
  - name: 'other funding, and no withdrawal'
    records:
      enrolments:
        - { sourceOfFunding: 01, courseStartDate: 2025-03-01, courseEndDate: 2025-06-08, courseWithdrawalDate: 2025-04-01 }
        - { sourceOfFunding: 32, courseStartDate: 2025-03-01, courseEndDate: 2025-06-08, courseWithdrawalDate: 2025-04-01 }
        - { sourceOfFunding: 31, courseStartDate: 2025-03-01, courseEndDate: 2025-06-08 }
    finds: []
*/
select row, elapsed, days
from (
  select row,
    cast(julianday(courseWithdrawalDate) - julianday(courseStartDate) as integer) as elapsed,
    cast(julianday(courseEndDate) - julianday(courseStartDate) as integer) + 1 as days
  from enrolments
  where sourceOfFunding = '31'
)
where elapsed * 10 >= days
