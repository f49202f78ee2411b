/*
code: STT-202
file: stop-times
fields: [arrival_time, stop_sequence]
relates: {stop-times: [trip_id]}
severity: Error
message: 'The trip {trip_id} arrives at {arrival_time}, before it left an earlier stop at {left}.'
many: arrivals are before the trip left an earlier stop.
why: Times increase along a trip.
fix: Correct the times or the order of the stops.
source: https://gtfs.org/documentation/schedule/reference/#stop_timestxt
basis: stated
examples:
  - name: earlier, equal and later
    records:
      stop-times:
        - { trip_id: T1, stop_sequence: 1, arrival_time: '08:00:00', departure_time: '08:01:00' }
        - { trip_id: T1, stop_sequence: 2, arrival_time: '08:00:59', departure_time: '08:02:00' }
        - { trip_id: T1, stop_sequence: 3, arrival_time: '8:02:00', departure_time: '8:03:00' }
        - { trip_id: T1, stop_sequence: 4, arrival_time: '08:10:00', departure_time: '08:10:00' }
    finds: [2]
  - name: another trip and another order of the records
    records:
      stop-times:
        - { trip_id: T1, stop_sequence: 1, arrival_time: '08:00:00', departure_time: '08:01:00' }
        - { trip_id: T2, stop_sequence: 2, arrival_time: '07:30:00', departure_time: '07:31:00' }
        - { trip_id: T2, stop_sequence: 1, arrival_time: '07:00:00', departure_time: '07:01:00' }
    finds: []
*/
select row, left
from (
  select row, arrival_time,
    max(substr('0' || departure_time, -8)) over (
      partition by trip_id
      order by stop_sequence
      groups between unbounded preceding and 1 preceding
    ) as left
  from stop_times
)
where substr('0' || arrival_time, -8) < left
