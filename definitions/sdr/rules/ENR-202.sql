/*
code: ENR-202
file: enrolments
fields: [courseEndDate, courseStartDate]
severity: Warning
message: 'The enrolment lasts from {courseStartDate} to {courseEndDate}, longer than 12 months.'
many: enrolments last longer than 12 months.
why: Enrolments of more than 12 months can lower the retention indicator.
fix: Check both dates.
source: http://www.tec.govt.nz/Resource-Centre/Software-tools/Data-Accuracy-Report-guidance/
basis: stated
examples:
  - name: a year and a day
    records:
      enrolments:
        - { courseStartDate: 2025-01-01, courseEndDate: 2026-01-02 }
        - { courseStartDate: 2025-01-01, courseEndDate: 2026-01-01 }
        - { courseStartDate: 2025-01-01, courseEndDate: 2025-12-31 }
    finds: [1]
  - name: 'from 29 February, twelve months end on 28 February'
    records:
      enrolments:
        - { courseStartDate: 2024-02-29, courseEndDate: 2025-02-28 }
        - { courseStartDate: 2024-02-29, courseEndDate: 2025-03-01 }
        - { courseStartDate: 2024-02-28, courseEndDate: 2025-02-28 }
    finds: [2]
  - name: no end
    records:
      enrolments:
        - { courseStartDate: 2025-01-01 }
    finds: []
*/
select row
from enrolments
-- Without a corresponding day, months end on the last day (Legislation Act 2019, section 56,
-- https://www.legislation.govt.nz/act/public/2019/0058/latest/DLM7298319.html).
where courseEndDate > date(courseStartDate, '+12 months', 'floor')
