/*
code: LEA-207
file: learners
fields: [enrolmentType]
relates: {enrolments: [studentIdentificationCode]}
severity: Warning
message: 'The enrolments of this type D learner add up to only {total} EFTS.'
many: learners of type D have enrolments of at most 0.03 EFTS in total.
why: Type D is for learners in formal qualifications with more than 0.03 EFTS in total.
fix: 'Change the enrolment type to B, or correct the EFTS factors.'
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-02621
basis: stated
examples:
  - name: 'over, at and under 0.03 EFTS'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: D }
        - { studentIdentificationCode: S2, enrolmentType: D }
        - { studentIdentificationCode: S3, enrolmentType: D }
      enrolments:
        - { studentIdentificationCode: S1, eftsFactor: 0.02 }
        - { studentIdentificationCode: S1, eftsFactor: 0.0101 }
        - { studentIdentificationCode: S2, eftsFactor: 0.01 }
        - { studentIdentificationCode: S2, eftsFactor: 0.02 }
        - { studentIdentificationCode: S3, eftsFactor: 0.0299 }
    finds: [2, 3]
  - name: 'another type, no enrolment, and an unknown factor'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: B }
        - { studentIdentificationCode: S2, enrolmentType: D }
        - { studentIdentificationCode: S3, enrolmentType: D }
      enrolments:
        - { studentIdentificationCode: S1, eftsFactor: 0.01 }
        - { studentIdentificationCode: S3, eftsFactor: 0.01 }
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
  where enrolmentType = 'D'
)
where total <= 0.03
