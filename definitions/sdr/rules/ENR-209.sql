/*
code: ENR-209
file: enrolments
fields: [qualificationCode]
severity: Warning
message: 'The learner is of type C (non-formal), but {qualificationCode} is no code for non-formal education.'
many: enrolments of learners of type C (non-formal) have a code of formal education.
why: Type C is for non-formal programmes. Tertiary education institutions report them with G9999 or a code of the form GFFSSX.
fix: Correct the enrolment type of the learner or the qualification. Ignore this warning if your organisation is not a tertiary education institution.
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-02621
basis: inferred
examples:
  - name: formal and non-formal
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: C }
        - { studentIdentificationCode: S2, enrolmentType: D }
        - { studentIdentificationCode: S3, enrolmentType: B }
      enrolments:
        - { studentIdentificationCode: S1, qualificationCode: NZ1234 }
        - { studentIdentificationCode: S1, qualificationCode: G9998 }
        - { studentIdentificationCode: S1, qualificationCode: G99999X }
        - { studentIdentificationCode: S1, qualificationCode: G9999 }
        - { studentIdentificationCode: S1, qualificationCode: G08031 }
        - { studentIdentificationCode: S2, qualificationCode: NZ1234 }
        - { studentIdentificationCode: S3, qualificationCode: NZ1234 }
    finds: [1, 2, 3]
  - name: 'no qualification, unknown learner'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: C }
      enrolments:
        - { studentIdentificationCode: S1 }
        - { studentIdentificationCode: S0, qualificationCode: NZ1234 }
        - { studentIdentificationCode: S9, qualificationCode: NZ1234 }
    finds: []
*/
select enrolments.row, learners.enrolmentType
from learners
join enrolments on learners.studentIdentificationCode = enrolments.studentIdentificationCode
where learners.enrolmentType = 'C' and not (
  enrolments.qualificationCode = 'G9999' or enrolments.qualificationCode glob 'G[0-9][0-9][0-9][0-9][0-9]'
)
