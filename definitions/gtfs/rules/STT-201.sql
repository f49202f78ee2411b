/*
code: STT-201
file: stop-times
fields: [departure_time, arrival_time]
severity: Error
message: 'The departure at {departure_time} is before the arrival at {arrival_time}.'
many: departures are before their arrivals.
why: A vehicle cannot leave a stop before it arrives.
fix: Correct one of the two times.
source: https://gtfs.org/documentation/schedule/reference/#stop_timestxt
basis: inferred
examples:
  - name: before, at and after the arrival
    records:
      stop-times:
        - { trip_id: T1, stop_sequence: 1, arrival_time: '08:05:00', departure_time: '08:04:59' }
        - { trip_id: T1, stop_sequence: 2, arrival_time: '8:05:00', departure_time: '08:05:00' }
        - { trip_id: T1, stop_sequence: 3, arrival_time: '9:05:00', departure_time: '10:00:00' }
        - { trip_id: T1, stop_sequence: 4, arrival_time: '24:01:00', departure_time: '23:59:00' }
    finds: [1, 4]
  - name: only one of the two
    records:
      stop-times:
        - { trip_id: T1, stop_sequence: 1, departure_time: '08:04:59' }
        - { trip_id: T1, stop_sequence: 2, arrival_time: '08:05:00' }
    finds: []
*/
select row
from stop_times
-- The hour may have one digit.
where substr('0' || departure_time, -8) < substr('0' || arrival_time, -8)
