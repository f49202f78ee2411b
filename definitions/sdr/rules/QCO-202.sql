/*
code: QCO-202
file: qualification-completions
fields: [studentIdentificationCode]
relates: {enrolments: [studentIdentificationCode]}
severity: Warning
message: The learner has no enrolment in this return.
many: completions are those of learners without an enrolment in this return.
why: A completion without an enrolment drops out of the performance indicators.
fix: 'Correct the student ID, or add the enrolments. Ignore this warning if all enrolments are in earlier returns.'
source: http://www.tec.govt.nz/Resource-Centre/Software-tools/Data-Accuracy-Report-guidance/
basis: stated
examples:
  - name: other learners are enrolled
    records:
      enrolments:
        - { studentIdentificationCode: S4 }
        - { studentIdentificationCode: S6 }
      qualification-completions:
        - { studentIdentificationCode: S5 }
        - {  }
    finds: [1]
  - name: enrolled in any qualification
    records:
      enrolments:
        - { studentIdentificationCode: S5, qualificationCode: NZ0001 }
      qualification-completions:
        - { studentIdentificationCode: S5, qualificationCode: NZ0005 }
        - {  }
    finds: []
*/
select row
from qualification_completions
where studentIdentificationCode is not null
  and not exists (
    select 1 from enrolments
    where enrolments.studentIdentificationCode = qualification_completions.studentIdentificationCode
  )
