/*
code: CRS-201
file: courses
fields: [courseCode]
severity: Warning
message: 'The course code {courseCode} appears to contain a date.'
many: course codes appear to contain a date.
why: 'A course code has no dates in it: it stays the same from year to year.'
fix: 'Use a code without a date, in every file.'
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-course-data-to-the-submission
basis: stated
examples:
  - name: 'year first, and day first'
    records:
      courses:
        - { courseCode: MATH20250217 }
        - { courseCode: 17022025MATH }
        - { courseCode: MATH101 }
    finds: [1, 2]
  - name: a number that is no date
    records:
      courses:
        - { courseCode: A20259917 }
        - { courseCode: 12345678 }
        - {  }
    finds: []
*/
select row
from courses
where courseCode glob '*20[0-9][0-9][01][0-9][0-3][0-9]*'
  or courseCode glob '*[0-3][0-9][01][0-9]20[0-9][0-9]*'
