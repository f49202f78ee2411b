/*
code: ENR-208
file: enrolments
fields: [sourceOfFunding, courseCode]
severity: Warning
message: 'The course {courseCode} is at level {nzqcfLevel}, but source of funding 29 is for levels 3 and 4.'
many: enrolments have source of funding 29, but their course is not at level 3 or 4.
why: Source of funding 29 is for Māori and Pasifika Trades Training at levels 3 and 4.
fix: Correct the level of the course or the source of funding.
source: https://tecknowledgebase.powerappsportals.com/en-NZ/knowledgebase/category/?id=CAT-01001
basis: stated
examples:
  - name: levels 2 to 5
    records:
      courses:
        - { courseCode: A, nzqcfLevel: 2 }
        - { courseCode: B, nzqcfLevel: 3 }
        - { courseCode: C, nzqcfLevel: 4 }
        - { courseCode: D, nzqcfLevel: 5 }
      enrolments:
        - { courseCode: A, sourceOfFunding: 29 }
        - { courseCode: B, sourceOfFunding: 29 }
        - { courseCode: C, sourceOfFunding: 29 }
        - { courseCode: D, sourceOfFunding: 29 }
    finds: [1, 4]
  - name: 'other funding, an unknown course and an unknown level'
    records:
      courses:
        - { courseCode: A, nzqcfLevel: 2 }
        - { courseCode: B }
      enrolments:
        - { courseCode: A, sourceOfFunding: 01 }
        - { courseCode: A, sourceOfFunding: 30 }
        - { courseCode: B, sourceOfFunding: 29 }
        - { courseCode: Z, sourceOfFunding: 29 }
        - { courseCode: 0, sourceOfFunding: 29 }
    finds: []
*/
select enrolments.row, courses.nzqcfLevel
from enrolments
join courses on courses.courseCode = enrolments.courseCode
where enrolments.sourceOfFunding = '29' and courses.nzqcfLevel not in ('3', '4')
