/*
code: LEA-201
file: learners
fields: [dateOfBirth]
severity: Error
message: 'The learner is {age} years old on {asOf}. Ages from 5 to 100 are accepted.'
many: learners are younger than 5 or older than 100.
why: A date of birth that makes a learner younger than 5 or older than 100 is rejected as invalid.
fix: Correct the date of birth.
source: https://wiki.selma.co.nz/sdr-errors-and-how-to-fix-them
basis: stated
replaces: 102
examples:
  - name: from 5 to 100 years
    return: 202512
    asOf: 2025-12-31
    records:
      learners:
        - { dateOfBirth: 2021-01-01 }
        - { dateOfBirth: 2020-12-31 }
        - { dateOfBirth: 1924-12-31 }
        - { dateOfBirth: 1925-01-01 }
        - { dateOfBirth: 1999-05-05 }
    finds: [1, 3]
  - name: a birthday on and after the as-of date
    return: 202504
    asOf: 2025-04-30
    records:
      learners:
        - { dateOfBirth: 2020-04-30 }
        - { dateOfBirth: 2020-05-01 }
        - { dateOfBirth: 1924-04-30 }
        - { dateOfBirth: 1924-05-01 }
    finds: [2, 3]
  - name: no date of birth
    records:
      learners:
        - { studentIdentificationCode: S1 }
    finds: []
*/
select row, age
from (
  select row,
    cast(substr(:asOf, 1, 4) as integer) - cast(substr(dateOfBirth, 1, 4) as integer)
      - (substr(dateOfBirth, 6) > substr(:asOf, 6)) as age
  from learners
)
where age not between 5 and 100
