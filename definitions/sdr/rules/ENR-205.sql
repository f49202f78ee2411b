/*
code: ENR-205
file: enrolments
fields: [sourceOfFunding]
severity: Warning
message: 'The learner is a citizen of New Zealand, but the source of funding is 02 (international fee-paying).'
many: enrolments of citizens of New Zealand have source of funding 02 (international fee-paying).
why: Conflicts between citizenship and source of funding are among the commonest errors.
fix: Correct the citizenship or the source of funding.
source: http://www.mercury.ac.nz/services/sdr-help/
basis: inferred
examples:
  - name: a citizen with 02
    records:
      learners:
        - { studentIdentificationCode: S1, citizenship: NZL }
        - { studentIdentificationCode: S2, citizenship: GBR }
        - { studentIdentificationCode: S3, citizenship: ZWE }
      enrolments:
        - { studentIdentificationCode: S1, sourceOfFunding: 02 }
        - { studentIdentificationCode: S1, sourceOfFunding: 01 }
        - { studentIdentificationCode: S1, sourceOfFunding: 03 }
        - { studentIdentificationCode: S2, sourceOfFunding: 02 }
        - { studentIdentificationCode: S3, sourceOfFunding: 02 }
    finds: [1]
  - name: an unknown learner
    records:
      learners:
        - { studentIdentificationCode: S1, citizenship: NZL }
      enrolments:
        - { studentIdentificationCode: S0, sourceOfFunding: 02 }
        - { studentIdentificationCode: S9, sourceOfFunding: 02 }
    finds: []
*/
select enrolments.row
from enrolments
join learners on learners.studentIdentificationCode = enrolments.studentIdentificationCode
where enrolments.sourceOfFunding = '02' and learners.citizenship = 'NZL'
