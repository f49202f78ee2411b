/*
code: QCO-205
file: qualification-completions
fields: [yearRequirementsMet, qualificationCompletionDate]
severity: Warning
message: 'yearRequirementsMet {yearRequirementsMet} is after the completion date {qualificationCompletionDate}.'
many: completions have yearRequirementsMet after their date.
why: 'A qualification is completed when its requirements are met, not earlier.'
fix: Correct the year or the date.
source: https://api-docs.prd.dxs.pub.tec.govt.nz/api/provider-based/upload-qualification-completion-data-to-the-submission
basis: own
examples:
  - name: 'after, in and before the year'
    records:
      qualification-completions:
        - { yearRequirementsMet: 2026, qualificationCompletionDate: 2025-12-31 }
        - { yearRequirementsMet: 2025, qualificationCompletionDate: 2025-12-31 }
        - { yearRequirementsMet: 2024, qualificationCompletionDate: 2025-12-31 }
    finds: [1]
  - name: no year
    records:
      qualification-completions:
        - { qualificationCompletionDate: 2025-12-31 }
    finds: []
*/
select row
from qualification_completions
where yearRequirementsMet > cast(substr(qualificationCompletionDate, 1, 4) as integer)
