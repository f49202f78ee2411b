/*
code: TRP-201
file: trips
fields: [trip_id]
relates: {stop-times: [trip_id]}
severity: Error
message: 'The trip {trip_id} has {stops} stop times; it needs at least two.'
many: trips have fewer than two stop times.
why: A trip runs from one stop to another.
fix: Add the stop times, or remove the trip.
source: https://gtfs.org/documentation/schedule/reference/#stop_timestxt
basis: inferred
examples:
  - name: none, one, two and three stops
    records:
      trips:
        - { trip_id: T0 }
        - { trip_id: T1 }
        - { trip_id: T2 }
        - { trip_id: T3 }
      stop-times:
        - { trip_id: T1, stop_sequence: 1 }
        - { trip_id: T2, stop_sequence: 1 }
        - { trip_id: T2, stop_sequence: 2 }
        - { trip_id: T3, stop_sequence: 1 }
        - { trip_id: T3, stop_sequence: 2 }
        - { trip_id: T3, stop_sequence: 3 }
    finds: [1, 2]
  - name: stops of other trips
    records:
      trips:
        - { trip_id: T2 }
      stop-times:
        - { trip_id: T2, stop_sequence: 1 }
        - { trip_id: T2, stop_sequence: 2 }
        - { trip_id: T1, stop_sequence: 1 }
        - { trip_id: T3, stop_sequence: 1 }
    finds: []
*/
select row, stops
from (
  select trips.row, (
      select count(*) from stop_times where stop_times.trip_id = trips.trip_id
    ) as stops
  from trips
)
where stops < 2
