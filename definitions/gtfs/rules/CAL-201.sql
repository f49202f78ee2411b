/*
code: CAL-201
file: calendar
fields: [monday]
severity: Warning
message: 'The service {service_id} runs on no day of the week.'
many: services run on no day of the week.
why: Its trips never appear unless calendar_dates.txt adds days.
fix: Enter 1 for the days on which it runs.
source: https://gtfs.org/documentation/schedule/reference/#calendartxt
basis: own
examples:
  - name: no day, one day
    records:
      calendar:
        - { monday: 0, tuesday: 0, wednesday: 0, thursday: 0, friday: 0, saturday: 0, sunday: 0 }
        - { monday: 0, tuesday: 0, wednesday: 0, thursday: 0, friday: 0, saturday: 0, sunday: 1 }
    finds: [1]
  - name: a value is missing, or below zero
    records:
      calendar:
        - { monday: 0 }
        - { monday: -0, tuesday: 0, wednesday: 0, thursday: 0, friday: 0, saturday: 0, sunday: 0 }
    finds: []
*/
select row
from calendar
where monday || tuesday || wednesday || thursday || friday || saturday || sunday = '0000000'
