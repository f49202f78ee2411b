/*
code: ENR-203
file: enrolments
fields: [sourceOfFunding]
severity: Error
message: 'Neither the learner nor the course {courseCode} has a foreign fee.'
many: enrolments are international, but neither the learner nor the course has a foreign fee.
why: An enrolment with source of funding 02 (international fee-paying) needs a foreign fee in the learner file or in the course register.
fix: 'Enter the foreign fee in one of the two files, or correct the source of funding.'
source: https://wiki.selma.co.nz/?p=1051&post_type=post
basis: stated
replaces: '362, 363'
examples:
  - name: 'no fee, a fee of the learner, a fee of the course'
    records:
      learners:
        - { studentIdentificationCode: S1 }
        - { studentIdentificationCode: S2, foreignFee: 9000 }
      courses:
        - { courseCode: A }
        - { courseCode: B, foreignFee: 4000 }
      enrolments:
        - { studentIdentificationCode: S1, courseCode: A, sourceOfFunding: 02 }
        - { studentIdentificationCode: S2, courseCode: A, sourceOfFunding: 02 }
        - { studentIdentificationCode: S1, courseCode: B, sourceOfFunding: 02 }
    finds: [1]
  - name: 'other funding, and records that are missing elsewhere'
    records:
      learners:
        - { studentIdentificationCode: S1 }
        - { studentIdentificationCode: S3 }
      courses:
        - { courseCode: A }
        - { courseCode: C }
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
where enrolments.sourceOfFunding = '02' and learners.foreignFee is null and courses.foreignFee is null
