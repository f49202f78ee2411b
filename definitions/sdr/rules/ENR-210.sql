/*
code: ENR-210
file: enrolments
fields: [qualificationCode]
severity: Warning
message: 'The learner is of type {enrolmentType} (formal), but {qualificationCode} is a code for non-formal education.'
many: enrolments of formal learners have a code of non-formal education.
why: Types B and D are for formal qualifications; learners in non-formal programmes are of type C.
fix: Correct the enrolment type of the learner or the qualification.
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-02621
basis: inferred
examples:
  - name: formal and non-formal
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: B }
        - { studentIdentificationCode: S2, enrolmentType: D }
        - { studentIdentificationCode: S3, enrolmentType: C }
      enrolments:
        - { studentIdentificationCode: S1, qualificationCode: G9999 }
        - { studentIdentificationCode: S2, qualificationCode: G08031 }
        - { studentIdentificationCode: S1, qualificationCode: NZ1234 }
        - { studentIdentificationCode: S2, qualificationCode: G9998 }
        - { studentIdentificationCode: S3, qualificationCode: G9999 }
        - { studentIdentificationCode: S2, qualificationCode: GOLD01 }
    finds: [1, 2]
  - name: unknown learner
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: D }
      enrolments:
        - { studentIdentificationCode: S0, qualificationCode: G9999 }
        - { studentIdentificationCode: S9, qualificationCode: G9999 }
    finds: []
*/
select enrolments.row, learners.enrolmentType
from enrolments
join learners on learners.studentIdentificationCode = enrolments.studentIdentificationCode
where learners.enrolmentType in ('B', 'D') and (
  enrolments.qualificationCode = 'G9999' or enrolments.qualificationCode glob 'G[0-9][0-9][0-9][0-9][0-9]'
)
