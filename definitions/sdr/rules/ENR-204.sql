/*
code: ENR-204
file: enrolments
fields: [sourceOfFunding]
severity: Error
message: 'Both the learner and the course {courseCode} have a foreign fee.'
many: enrolments have a foreign fee of both the learner and the course.
why: 'The foreign fee is reported in the learner file or in the course register, never in both.'
fix: Remove the foreign fee from one of the two files.
source: https://intercom.help/tuplesms/en/articles/3213952-sdr-file-guidelines
basis: stated
examples:
  - name: 'both, or one of the two'
    records:
      learners:
        - { studentIdentificationCode: S1, foreignFee: 9000 }
        - { studentIdentificationCode: S2 }
      courses:
        - { courseCode: A, foreignFee: 4000 }
        - { courseCode: B }
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, sourceOfFunding: 02 }
        - { studentIdentificationCode: S1, courseCode: B, sourceOfFunding: 02 }
        - { studentIdentificationCode: S2, courseCode: A, sourceOfFunding: 02 }
    finds: [1]
  - name: 'other funding, and records that are missing elsewhere'
    records:
      learners:
        - { studentIdentificationCode: S1, foreignFee: 9000 }
      courses:
        - { courseCode: A, foreignFee: 4000 }
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, sourceOfFunding: 01 }
        - { studentIdentificationCode: S1, courseCode: A, sourceOfFunding: 03 }
        - { studentIdentificationCode: S9, courseCode: A, sourceOfFunding: 02 }
        - { studentIdentificationCode: S1, courseCode: Z, sourceOfFunding: 02 }
    finds: []
*/
select enrolments.row
from enrolments
join learners on learners.studentIdentificationCode = enrolments.studentIdentificationCode
join courses on courses.courseCode = enrolments.courseCode
where enrolments.sourceOfFunding = '02' and learners.foreignFee is not null and courses.foreignFee is not null
