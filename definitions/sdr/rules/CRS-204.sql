/*
code: CRS-204
file: courses
fields: [courseTitle]
severity: Error
message: 'courseTitle has {length} characters. Before December 2025, at most 75 are accepted.'
many: course titles have more than the 75 characters that were accepted before December 2025.
why: The limit was raised from 75 to 255 characters in December 2025.
fix: Shorten the title.
source: https://www.tec.govt.nz/funding/managing-your-funding/reporting-and-recordkeeping/reporting-tools/sdr/completing-your-december-2025-sdr
basis: stated
until: 2025-11-30
examples:
  - name: 75 and 76 characters
    return: 202508
    records:
      courses:
        - { courseTitle: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx }
        - { courseTitle: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx }
        - { courseTitle: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx }
    finds: [1]
  - name: no title
    return: 202508
    records:
      courses:
        - {  }
    finds: []
*/
select row, length(courseTitle) as length
from courses
where length(courseTitle) > 75
