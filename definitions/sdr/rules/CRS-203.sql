/*
code: CRS-203
file: courses
fields: [qualificationCode, learningHours]
severity: Error
message: 'The course has {learningHours} learning hours, but {qualificationCode} is for more than 40 hours.'
many: courses have at most 40 learning hours, but a qualification for more than 40.
why: Codes of the form GFFSSX are for non-formal education of more than 40 hours; shorter courses use G9999.
fix: 'Use G9999, or correct the learning hours.'
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-course-data-to-the-submission
basis: stated
examples:
  - name: 'under, at and over 40 hours'
    records:
      courses:
        - { qualificationCode: G08031, learningHours: 39 }
        - { qualificationCode: G08031, learningHours: 40 }
        - { qualificationCode: G08031, learningHours: 41 }
    finds: [1, 2]
  - name: other codes
    records:
      courses:
        - { qualificationCode: G9999, learningHours: 8 }
        - { qualificationCode: NZ0803, learningHours: 8 }
    finds: []
*/
select row
from courses
where qualificationCode glob 'G[0-9][0-9][0-9][0-9][0-9]' and learningHours <= 40
