/*
code: ENR-110
file: enrolments
fields: [eftsFactor, courseStartDate, courseEndDate]
severity: Error
message: 'The EFTS of month {number} is {value}. The factor {eftsFactor}, divided by the months of the enrolment and rounded down, is {share}.'
why: 'The EFTS of each month is the factor divided by the number of months in which the learner is enrolled for at least one day, rounded down to four decimal places.'
fix: Derive the EFTS by month from the factor and the dates again.
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-01968
basis: stated
examples:
  - name: 'one month too small, one too large, and right'
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.0333, eftsMonth03: 0.0332, eftsMonth04: 0.0333 }
        - { courseStartDate: 2025-02-28, courseEndDate: 2025-04-01, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.0333, eftsMonth03: 0.0333, eftsMonth04: 0.0334 }
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.0333, eftsMonth03: 0.0333, eftsMonth04: 0.0333, eftsMonth05: 0, eftsMonth06: 0 }
    finds: [1, 2]
  - name: the first and the last month
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.03, eftsMonth03: 0.0333, eftsMonth04: 0.0333 }
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-04-30, eftsFactor: 0.1, eftsMonth01: 0, eftsMonth02: 0.0333, eftsMonth03: 0.0333, eftsMonth04: 0.03 }
    finds: [1, 2]
  - name: from the year before and into the year after
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2024-12-17, courseEndDate: 2025-02-27, eftsFactor: 0.1, eftsMonth01: 0.0333, eftsMonth02: 0.0333 }
        - { courseStartDate: 2025-12-01, courseEndDate: 2026-02-27, eftsFactor: 0.1, eftsMonth12: 0.0333 }
        - { courseStartDate: 2024-12-17, courseEndDate: 2025-02-27, eftsFactor: 0.1, eftsMonth01: 0.05, eftsMonth02: 0.05 }
    finds: [3]
  - name: 'outside the months of the enrolment, and without values'
    return: 202512
    records:
      enrolments:
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-02-27, eftsFactor: 0.1, eftsMonth01: 0.1, eftsMonth02: 0.1, eftsMonth03: 0.1 }
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-02-27, eftsFactor: 0.1 }
        - { courseStartDate: 2025-02-17, courseEndDate: 2025-02-27, eftsMonth02: 0.1 }
    finds: []
*/
with months (number) as (
  values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12)
),
-- Months are counted from January of the return year: 0 is the December before it.
numbered as (
  select row, eftsFactor,
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
    -- Integers divide without a remainder, which rounds the share down.
    cast(round(eftsFactor * 10000) as integer) / (last - first + 1) / 10000.0 as share,
    case number
      when 1 then eftsMonth01 when 2 then eftsMonth02 when 3 then eftsMonth03 when 4 then eftsMonth04
      when 5 then eftsMonth05 when 6 then eftsMonth06 when 7 then eftsMonth07 when 8 then eftsMonth08
      when 9 then eftsMonth09 when 10 then eftsMonth10 when 11 then eftsMonth11 when 12 then eftsMonth12
    end as efts
  from numbered, months
)
select row, number, printf('%.4f', efts) as value, printf('%.4f', share) as share
from monthly
where number between first and last and efts <> share
order by row, number
