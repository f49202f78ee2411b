-- Parts the findings by run, so that tables of billions of rows become tables of millions: an index that fits in
-- memory, a vacuum of one part at a time, a tablespace of its own for each. A run belongs to one submission, and a page
-- to one run, so a page reads one part and a publish writes to one. Mahi's statements stay as they are.
--
--   psql --dbname=postgres://mahi_owner@db/mahi --set ON_ERROR_STOP=1 --file deploy/partition-results.sql
--
-- The password belongs in PGPASSWORD or a file named by PGPASSFILE, not on the command line.
--
-- Run it once, after `mahi migrate`. It parts result_block, and result_entry, which earlier versions of Mahi filled; a
-- table that is parted already stays as it is. It holds a lock on the tables while it copies the findings: publishes and
-- reads of results wait for it. Change the number of parts here: it can't be changed later without another copy.
begin;
lock table submission, result_block, result_entry;
do $$
declare
  parts constant integer := 16;
  whole text;
  done integer := 0;
begin
  foreach whole in array array['result_block', 'result_entry'] loop
    continue when (select relkind from pg_class where oid = to_regclass(whole)) = 'p';
    execute format('alter table %I rename to %I', whole, whole || '_whole');
    execute format('alter index %I rename to %I', whole || '_pkey', whole || '_whole_pkey');
    execute format(
      'create table %I (like %I including all) partition by hash (run)', whole, whole || '_whole'
    );
    for part in 0 .. parts - 1 loop
      execute format(
        'create table %I partition of %I for values with (modulus %s, remainder %s)',
        whole || '_' || part, whole, parts, part
      );
    end loop;
    execute format('insert into %I select * from %I', whole, whole || '_whole');
    execute format('drop table %I', whole || '_whole');
    done := done + 1;
  end loop;
  if done = 0 then
    raise exception 'the findings are already partitioned: there is nothing to do';
  end if;
end
$$;
commit;
analyze result_block, result_entry;
