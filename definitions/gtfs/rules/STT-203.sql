/*
code: STT-203
file: stop-times
fields: [arrival_time, departure_time]
relates: {stop-times: [trip_id]}
severity: Error
message: 'The first or last stop of the trip {trip_id} has no complete times.'
many: first or last stops have no complete times.
why: Times between two timed stops can be interpolated, but not the first and the last one.
fix: Enter the arrival and departure times.
source: https://gtfs.org/documentation/schedule/reference/#stop_timestxt
basis: stated
examples:
  - name: first, between and last
    records:
      stop-times:
        - { trip_id: T1, stop_sequence: 1, departure_time: '08:01:00' }
        - { trip_id: T1, stop_sequence: 5 }
        - { trip_id: T1, stop_sequence: 9, arrival_time: '08:30:00' }
    finds: [1, 3]
  - name: complete
    records:
      stop-times:
        - { trip_id: T1, stop_sequence: 1, arrival_time: '08:01:00', departure_time: '08:01:00' }
        - { trip_id: T1, stop_sequence: 5 }
        - { trip_id: T1, stop_sequence: 9, arrival_time: '08:30:00', departure_time: '08:30:00' }
    finds: []
*/
select row
from (
  select row, arrival_time, departure_time, stop_sequence,
    min(stop_sequence) over (partition by trip_id) as first,
    max(stop_sequence) over (partition by trip_id) as last
  from stop_times
)
where stop_sequence in (first, last) and (arrival_time is null or departure_time is null)
