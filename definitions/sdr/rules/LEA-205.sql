/*
code: LEA-205
file: learners
fields: [iwi]
severity: Error
message: 'The iwi code {code} is no longer in use.'
many: learners have an iwi code that is no longer in use.
why: The codes 4000 and 6000 were retired.
fix: Replace the code with the current one.
source: https://wiki.selma.co.nz/dxp-sdr
basis: stated
examples:
  - name: alone and among others
    records:
      learners:
        - { iwi: 4000 }
        - { iwi: '0121;6000;0805' }
        - { iwi: '0121;0805' }
    finds: [1, 2]
  - name: current codes
    records:
      learners:
        - { iwi: 4444 }
        - { iwi: 7777 }
        - {  }
    finds: []
*/
select learners.row, item.value as code
from learners, json_each(learners.iwi) as item
where item.value in ('4000', '6000')
