/*
code: CCO-204
file: course-completions
fields: [studentIdentificationCode]
severity: Warning
message: 'The learner is of type C (non-formal), which has no course completions.'
many: completions are those of learners of type C (non-formal), who have none.
why: Course completions are reported for learners of type D.
fix: 'Remove the completion, or correct the enrolment type of the learner.'
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-course-completion-data-to-the-submission
basis: stated
examples:
  - name: 'types B, C and D'
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: C }
        - { studentIdentificationCode: S2, enrolmentType: D }
        - { studentIdentificationCode: S3, enrolmentType: B }
      course-completions:
        - { studentIdentificationCode: S1 }
        - { studentIdentificationCode: S2 }
        - { studentIdentificationCode: S3 }
    finds: [1]
  - name: other learners
    records:
      learners:
        - { studentIdentificationCode: S1, enrolmentType: C }
      course-completions:
        - { studentIdentificationCode: S0 }
        - { studentIdentificationCode: S9 }
    finds: []
*/
select course_completions.row
from learners
join course_completions on course_completions.studentIdentificationCode = learners.studentIdentificationCode
where learners.enrolmentType = 'C'
