/*
code: LEA-204
file: learners
fields: [lastYearAtSchool, dateOfBirth]
severity: Error
message: 'lastYearAtSchool {lastYearAtSchool} is before the year of birth.'
many: learners have a last year at school before their year of birth.
why: The two values contradict each other.
fix: Correct the year or the date of birth.
source: https://wiki.selma.co.nz/sdr-errors-and-how-to-fix-them
basis: own
examples:
  - name: before and in the year of birth
    records:
      learners:
        - { lastYearAtSchool: 1998, dateOfBirth: 1999-01-01 }
        - { lastYearAtSchool: 1999, dateOfBirth: 1999-12-31 }
        - { lastYearAtSchool: 2016, dateOfBirth: 1999-01-01 }
    finds: [1]
  - name: only one of the two
    records:
      learners:
        - { lastYearAtSchool: 1998 }
        - { dateOfBirth: 1999-01-01 }
    finds: []
*/
select row
from learners
where lastYearAtSchool < cast(substr(dateOfBirth, 1, 4) as integer)
