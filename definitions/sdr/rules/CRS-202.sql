/*
code: CRS-202
file: courses
fields: [qualificationCode, learningHours]
severity: Error
message: 'The course has {learningHours} learning hours, but G9999 is for up to 40 hours.'
many: courses of G9999 have more than 40 learning hours.
why: G9999 is the code for non-formal education of up to 40 hours; longer courses use the form GFFSSX.
fix: 'Use the code of the form GFFSSX, or correct the learning hours.'
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-course-data-to-the-submission
basis: stated
examples:
  - name: 'over, at and under 40 hours'
    records:
      courses:
        - { qualificationCode: G9999, learningHours: 40.5 }
        - { qualificationCode: G9999, learningHours: 40 }
        - { qualificationCode: G9999, learningHours: 8 }
    finds: [1]
  - name: other codes
    records:
      courses:
        - { qualificationCode: NZ9999, learningHours: 400 }
        - { qualificationCode: G9998, learningHours: 400 }
        - { qualificationCode: G99991, learningHours: 400 }
    finds: []
*/
select row
from courses
where qualificationCode = 'G9999' and learningHours > 40
