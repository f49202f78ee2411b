/*
code: CCO-203
file: course-completions
fields: [nationalStudentNumber]
severity: Error
message: 'The NSN {nationalStudentNumber} differs from the one in the learner file.'
many: completions have another NSN than the learner file.
why: A learner has the same NSN in every file.
fix: Correct the NSN in one of the two files.
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-qualification-completion-data-to-the-submission
basis: stated
examples:
  - name: 'lower, higher and equal'
    records:
      learners:
        - { studentIdentificationCode: S1, nationalStudentNumber: 990000005 }
      course-completions:
        - { studentIdentificationCode: S1, nationalStudentNumber: 990000004 }
        - { studentIdentificationCode: S1, nationalStudentNumber: 990000006 }
        - { studentIdentificationCode: S1, nationalStudentNumber: 990000005 }
    finds: [1, 2]
  - name: 'no NSN, and other learners'
    records:
      learners:
        - { studentIdentificationCode: S1, nationalStudentNumber: 990000005 }
        - { studentIdentificationCode: S2 }
      course-completions:
        - { studentIdentificationCode: S1 }
        - { studentIdentificationCode: S2, nationalStudentNumber: 990000004 }
        - { studentIdentificationCode: S0, nationalStudentNumber: 990000004 }
        - { studentIdentificationCode: S9, nationalStudentNumber: 990000004 }
    finds: []
*/
select course_completions.row
from course_completions
join learners on learners.studentIdentificationCode = course_completions.studentIdentificationCode
where course_completions.nationalStudentNumber <> learners.nationalStudentNumber
