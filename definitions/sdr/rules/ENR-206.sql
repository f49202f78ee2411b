/*
code: ENR-206
file: enrolments
fields: [residentialStatus, sourceOfFunding]
severity: Warning
message: 'The learner is a permanent resident, but the source of funding is 02 (international fee-paying).'
many: enrolments of permanent residents have source of funding 02 (international fee-paying).
why: Conflicts between residency and source of funding are among the commonest errors.
fix: Correct the residential status or the source of funding.
source: http://www.mercury.ac.nz/services/sdr-help/
basis: inferred
examples:
  - name: a resident with 02
    records:
      enrolments:
        - { sourceOfFunding: 02, residentialStatus: 'Y' }
        - { sourceOfFunding: 02, residentialStatus: 'N' }
        - { sourceOfFunding: 02, residentialStatus: Z }
        - { sourceOfFunding: 01, residentialStatus: 'Y' }
        - { sourceOfFunding: 03, residentialStatus: 'Y' }
    finds: [1]
  - name: no residential status
    records:
      enrolments:
        - { sourceOfFunding: 02 }
    finds: []
*/
select row
from enrolments
where sourceOfFunding = '02' and residentialStatus = 'Y'
