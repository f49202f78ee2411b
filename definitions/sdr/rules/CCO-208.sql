/*
code: CCO-208
file: course-completions
fields: [pbrfCourseCompletionYear, courseStartDate]
severity: Warning
message: 'pbrfCourseCompletionYear {pbrfCourseCompletionYear} is before the course started on {courseStartDate}.'
many: completions have a PBRF year before the course started.
why: The two values contradict each other.
fix: Correct the year or the start date.
source: https://github.com/unamelo/oh-no-sdr
basis: own
examples:
  - name: 'before, in and after the year'
    records:
      course-completions:
        - { pbrfCourseCompletionYear: 2024, courseStartDate: 2025-03-01 }
        - { pbrfCourseCompletionYear: 2025, courseStartDate: 2025-03-01 }
        - { pbrfCourseCompletionYear: 2026, courseStartDate: 2025-03-01 }
    finds: [1]
  - name: no year
    records:
      course-completions:
        - { courseStartDate: 2025-03-01 }
    finds: []
*/
select row
from course_completions
where pbrfCourseCompletionYear < cast(substr(courseStartDate, 1, 4) as integer)
