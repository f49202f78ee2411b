/*
code: LEA-208
file: learners
fields: [irdNumber]
severity: Error
message: irdNumber is not accepted in a return before August 2025.
why: The April 2025 return rejects the column as unknown.
fix: Remove the IRD numbers.
source: https://tec.govt.nz/funding/funding-and-performance/reporting/sdr/completing-your-april-2025-sdr
basis: stated
until: 2025-07-31
examples:
  - name: with an IRD number
    return: 202504
    records:
      learners:
        - { irdNumber: 999000001 }
    finds: [1]
  - name: without one
    return: 202504
    records:
      learners:
        - { studentIdentificationCode: S1 }
    finds: []
*/
select row
from learners
where irdNumber is not null
