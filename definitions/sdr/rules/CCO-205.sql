/*
code: CCO-205
file: course-completions
fields: [courseCode]
severity: Warning
message: 'The learner is of type B, and the enrolment has source of funding {sourceOfFunding}, which is excluded.'
many: completions are those of learners of type B whose enrolment has an excluded source of funding.
why: 'Completions of type B learners are not reported for the sources of funding 06, 07, 08, 11 and 21.'
fix: 'Remove the completion, or correct the enrolment type or the source of funding.'
source: https://tecknowledgebase.powerappsportals.com/en-nz/knowledgebase/article/KA-02621
basis: stated
examples:
  - name: each of the sources
    records:
      learners:
        - { studentIdentificationCode: S5, enrolmentType: B }
      enrolments:
        - { studentIdentificationCode: S5, courseCode: C0, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S5, courseCode: C1, courseStartDate: 2025-05-01, sourceOfFunding: 07 }
        - { studentIdentificationCode: S5, courseCode: C2, courseStartDate: 2025-05-01, sourceOfFunding: 08 }
        - { studentIdentificationCode: S5, courseCode: C3, courseStartDate: 2025-05-01, sourceOfFunding: 11 }
        - { studentIdentificationCode: S5, courseCode: C4, courseStartDate: 2025-05-01, sourceOfFunding: 21 }
        - { studentIdentificationCode: S5, courseCode: C5, courseStartDate: 2025-05-01, sourceOfFunding: 01 }
        - { studentIdentificationCode: S5, courseCode: C6, courseStartDate: 2025-05-01, sourceOfFunding: 12 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: C0, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: C1, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: C2, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: C3, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: C4, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: C5, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S5, courseCode: C6, courseStartDate: 2025-05-01 }
    finds: [1, 2, 3, 4, 5]
  - name: other types
    records:
      learners:
        - { studentIdentificationCode: S5, enrolmentType: D }
        - { studentIdentificationCode: S6, enrolmentType: A }
      enrolments:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01 }
    finds: []
  - name: 'an enrolment of another learner, course or start'
    records:
      learners:
        - { studentIdentificationCode: S4, enrolmentType: B }
        - { studentIdentificationCode: S5, enrolmentType: B }
        - { studentIdentificationCode: S6, enrolmentType: B }
      enrolments:
        - { studentIdentificationCode: S4, courseCode: E, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S6, courseCode: E, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S5, courseCode: D, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S5, courseCode: F, courseStartDate: 2025-05-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-04-01, sourceOfFunding: 06 }
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-06-01, sourceOfFunding: 06 }
      course-completions:
        - { studentIdentificationCode: S5, courseCode: E, courseStartDate: 2025-05-01 }
    finds: []
*/
select course_completions.row, enrolments.sourceOfFunding
from learners
join course_completions on course_completions.studentIdentificationCode = learners.studentIdentificationCode
join enrolments on course_completions.studentIdentificationCode = enrolments.studentIdentificationCode
  and course_completions.courseCode = enrolments.courseCode
  and course_completions.courseStartDate = enrolments.courseStartDate
where learners.enrolmentType = 'B' and enrolments.sourceOfFunding in ('06', '07', '08', '11', '21')
