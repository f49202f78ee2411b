/*
code: LEA-203
file: learners
fields: [firstYearOfTertiaryEducation, dateOfBirth]
severity: Error
message: 'firstYearOfTertiaryEducation {firstYearOfTertiaryEducation} is before the year of birth.'
many: learners have a first year of tertiary education before their year of birth.
why: The two values contradict each other.
fix: Correct the year or the date of birth.
source: https://wiki.selma.co.nz/sdr-errors-and-how-to-fix-them
basis: own
examples:
  - name: before and in the year of birth
    records:
      learners:
        - { firstYearOfTertiaryEducation: 1998, dateOfBirth: 1999-01-01 }
        - { firstYearOfTertiaryEducation: 1999, dateOfBirth: 1999-12-31 }
        - { firstYearOfTertiaryEducation: 2017, dateOfBirth: 1999-01-01 }
    finds: [1]
  - name: only one of the two
    records:
      learners:
        - { firstYearOfTertiaryEducation: 1998 }
        - { dateOfBirth: 1999-01-01 }
    finds: []
*/
select row
from learners
where firstYearOfTertiaryEducation < cast(substr(dateOfBirth, 1, 4) as integer)
