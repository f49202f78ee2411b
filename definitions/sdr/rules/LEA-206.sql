/*
code: LEA-206
file: learners
fields: [enrolmentType]
relates: {enrolments: [studentIdentificationCode]}
severity: Warning
message: 'The enrolments of this type B learner add up to {total} EFTS.'
many: learners of type B have enrolments of more than 0.03 EFTS in total.
why: 'Type B is for STAR learners, and for learners in formal qualifications with at most 0.03 EFTS in total.'
fix: 'Change the enrolment type to D, unless the learner is a STAR learner.'
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-02621
basis: stated
examples:
  - name: 'over, at and under 0.03 EFTS'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: B }
        - { studentIdentificationCode: S2, enrolmentType: B }
        - { studentIdentificationCode: S3, enrolmentType: B }
      enrolments:
        - { studentIdentificationCode: S1, eftsFactor: 0.02 }
        - { studentIdentificationCode: S1, eftsFactor: 0.0101 }
        - { studentIdentificationCode: S2, eftsFactor: 0.01 }
        - { studentIdentificationCode: S2, eftsFactor: 0.02 }
        - { studentIdentificationCode: S3, eftsFactor: 0.0299 }
    finds: [1]
  - name: 'another type, no enrolment, and an unknown factor'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: D }
        - { studentIdentificationCode: S2, enrolmentType: B }
        - { studentIdentificationCode: S3, enrolmentType: B }
      enrolments:
        - { studentIdentificationCode: S1, eftsFactor: 0.5 }
        - { studentIdentificationCode: S3, eftsFactor: 0.5 }
        - { studentIdentificationCode: S3 }
    finds: []
*/
select row, total
from (
  select learners.row, (
      -- Unknown if an enrolment has no factor.
      select case when count(*) = count(eftsFactor) then round(sum(eftsFactor), 4) end
      from enrolments
      where enrolments.studentIdentificationCode = learners.studentIdentificationCode
    ) as total
  from learners
  where enrolmentType = 'B'
)
where total > 0.03
