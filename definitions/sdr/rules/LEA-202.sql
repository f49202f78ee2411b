/*
code: LEA-202
file: learners
fields: [priorActivity, firstYearOfTertiaryEducation]
severity: Error
message: 'The learner first enrolled in {returnYear}, but priorActivity {priorActivity} is not one of 01, 02, 03, 04, 08 and 09.'
many: learners first enrolled in the return year, but their priorActivity is not one of 01, 02, 03, 04, 08 and 09.
why: 'In the first year of tertiary education, the activity before it is one of 01, 02, 03, 04, 08 and 09.'
fix: Correct the first year or the prior activity.
source: https://wiki.selma.co.nz/sdr-errors-and-how-to-fix-them
basis: stated
replaces: 108
examples:
  - name: an activity that is tertiary education
    return: 202512
    records:
      learners:
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 05 }
        - { firstYearOfTertiaryEducation: 2024, priorActivity: 05 }
        - { firstYearOfTertiaryEducation: 2026, priorActivity: 05 }
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 01 }
        - { firstYearOfTertiaryEducation: 2025 }
    finds: [1]
  - name: every other activity
    return: 202512
    records:
      learners:
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 01 }
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 02 }
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 03 }
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 04 }
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 08 }
        - { firstYearOfTertiaryEducation: 2025, priorActivity: 09 }
    finds: []
*/
select row
from learners
where firstYearOfTertiaryEducation = :returnYear and priorActivity not in ('01', '02', '03', '04', '08', '09')
