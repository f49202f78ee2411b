/*
code: QCO-201
file: qualification-completions
fields: [qualificationCode, studentIdentificationCode]
relates: {enrolments: [studentIdentificationCode, qualificationCode]}
severity: Warning
message: 'The learner has enrolments in this return, but none in {qualificationCode}.'
many: completions have no enrolment of the learner in the qualification.
why: A completion without an enrolment in the qualification drops out of the performance indicators.
fix: Correct the qualification of the completion or of the enrolments. Ignore this warning if all enrolments in the qualification are in earlier returns.
source: http://www.tec.govt.nz/Resource-Centre/Software-tools/Data-Accuracy-Report-guidance/
basis: stated
examples:
  - name: 'another qualification, and the same one'
    records:
      enrolments:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0004 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0006 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0005 }
        - { studentIdentificationCode: S5 }
    finds: [1, 2]
  - name: no enrolment at all
    records:
      enrolments:
        - { studentIdentificationCode: S4, qualificationCode: NZ0004 }
        - { studentIdentificationCode: S6, qualificationCode: NZ0005 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005 }
    finds: []
  - name: another learner in the qualification
    records:
      enrolments:
        - { studentIdentificationCode: S4, qualificationCode: NZ0005 }
        - { studentIdentificationCode: S5, qualificationCode: NZ0001 }
        - { studentIdentificationCode: S6, qualificationCode: NZ0005 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005 }
    finds: [1]
*/
select row
from qualification_completions
where qualificationCode is not null
  and exists (
    select 1 from enrolments
    where enrolments.studentIdentificationCode = qualification_completions.studentIdentificationCode
  )
  and not exists (
    select 1 from enrolments
    where enrolments.studentIdentificationCode = qualification_completions.studentIdentificationCode
      and enrolments.qualificationCode = qualification_completions.qualificationCode
  )
