/*
code: QCO-206
file: qualification-completions
fields: [studentIdentificationCode]
severity: Warning
message: 'The learner is of type {enrolmentType}, but qualification completions are reported for type D.'
many: completions are those of learners of a type other than D.
why: Learners of types B and C are in short or non-formal programmes.
fix: 'Remove the completion, or correct the enrolment type of the learner.'
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-qualification-completion-data-to-the-submission
basis: stated
examples:
  - name: 'types B, C and D'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: B }
        - { studentIdentificationCode: S2, enrolmentType: C }
        - { studentIdentificationCode: S3, enrolmentType: D }
        - { studentIdentificationCode: S4, enrolmentType: E }
      qualification-completions:
        - { studentIdentificationCode: S1 }
        - { studentIdentificationCode: S2 }
        - { studentIdentificationCode: S3 }
        - { studentIdentificationCode: S4 }
    finds: [1, 2, 4]
  - name: 'other learners, and no type'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: B }
        - { studentIdentificationCode: S2 }
      qualification-completions:
        - { studentIdentificationCode: S0 }
        - { studentIdentificationCode: S9 }
        - { studentIdentificationCode: S2 }
    finds: []
*/
select qualification_completions.row, learners.enrolmentType
from qualification_completions
join learners on learners.studentIdentificationCode = qualification_completions.studentIdentificationCode
where learners.enrolmentType <> 'D'
