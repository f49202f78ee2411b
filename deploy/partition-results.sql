-- Parts result_entry by run, so that a table of billions of entries becomes tables of millions: an index that fits in
-- memory, a vacuum of one part at a time, a tablespace of its own for each. A run belongs to one submission, and a page
-- to one run, so a page reads one part and a publish writes to one. Mahi's statements stay as they are.
--
--   psql --dbname=postgres://mahi_owner@db/mahi --set ON_ERROR_STOP=1 --file deploy/partition-results.sql
--
-- The password belongs in PGPASSWORD or a file named by PGPASSFILE, not on the command line.
--
-- Run it once, after `mahi migrate`. It holds a lock on the table while it copies the entries: publishes and reads of
-- results wait for it. Change the number of parts here: it can't be changed later without another copy.
begin;
do $$
begin
  if (select relkind from pg_class where oid = to_regclass('result_entry')) = 'p' then
    raise exception 'result_entry is already partitioned: there is nothing to do';
  end if;
end
$$;
lock table submission, result_entry;
alter table result_entry rename to result_entry_whole;
alter index result_entry_pkey rename to result_entry_whole_pkey;
create table result_entry (like result_entry_whole including all) partition by hash (run);
do $$
declare
  parts constant integer := 16;
begin
  for part in 0 .. parts - 1 loop
    execute format(
      'create table result_entry_%s partition of result_entry for values with (modulus %s, remainder %s)',
      part, parts, part
    );
  end loop;
end
$$;
insert into result_entry select * from result_entry_whole;
drop table result_entry_whole;
commit;
analyze result_entry;
