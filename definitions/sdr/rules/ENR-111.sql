/*
code: ENR-111
file: enrolments
fields: [eftsFactor, courseStartDate, courseEndDate]
severity: Error
message: 'The EFTS of month {number} is {value}, but the enrolment has no day in that month.'
why: A month without enrolment is reported as 0.0000.
fix: Derive the EFTS by month from the factor and the dates again.
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-01968
basis: stated
examples:
  - name: before and after the enrolment
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0.0001 }
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.0333, eftsMonth03: 0.0333, eftsMonth04: 0.0333, eftsMonth05: -0.0001 }
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.0333, eftsMonth03: 0.0333, eftsMonth04: 0.0333, eftsMonth05: 0 }
    finds: [1, 2]
  - name: 'within the enrolment, and without dates'
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.5, eftsMonth03: 0.5, eftsMonth04: 0.5 }
        - { eftsMonth02: 0.1 }
    finds: []
  - name: from the year before
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2024-12-17, courseEndDate: 2025-02-27, eftsFactor: 0.1, eftsMonth01: 0.0333, eftsMonth02: 0.0333, eftsMonth03: 0.0333 }
        - { courseStartDate: 2024-12-17, courseEndDate: 2025-01-27, eftsFactor: 0.1, eftsMonth01: 0.05, eftsMonth02: 0 }
    finds: [1]
*/
with months (number) as (
  values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12)
),
-- Months are counted from January of the return year: 0 is the December before it.
numbered as (
  select row,
    12 * (cast(substr(courseStartDate, 1, 4) as integer) - :returnYear)
      + cast(substr(courseStartDate, 6, 2) as integer) as first,
    12 * (cast(substr(courseEndDate, 1, 4) as integer) - :returnYear)
      + cast(substr(courseEndDate, 6, 2) as integer) as last,
    eftsMonth01, eftsMonth02, eftsMonth03, eftsMonth04, eftsMonth05, eftsMonth06,
    eftsMonth07, eftsMonth08, eftsMonth09, eftsMonth10, eftsMonth11, eftsMonth12
  from enrolments
),
monthly as (
  select row, number, first, last,
    case number
      when 1 then eftsMonth01 when 2 then eftsMonth02 when 3 then eftsMonth03 when 4 then eftsMonth04
      when 5 then eftsMonth05 when 6 then eftsMonth06 when 7 then eftsMonth07 when 8 then eftsMonth08
      when 9 then eftsMonth09 when 10 then eftsMonth10 when 11 then eftsMonth11 when 12 then eftsMonth12
    end as efts
  from numbered, months
)
select row, number, printf('%.4f', efts) as value
from monthly
where number not between first and last and efts <> 0
order by row, number
