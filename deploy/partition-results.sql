-- Parts the findings by run, so that tables of billions of rows become tables of millions: an index that fits in
-- memory, a vacuum of one part at a time, a tablespace of its own for each. A run belongs to one submission, and a page
-- to one run, so a page reads one part and a publish writes to one. Mahi's statements stay as they are.
--
--   psql --dbname=postgres://mahi_owner@db/mahi --set ON_ERROR_STOP=1 --file deploy/partition-results.sql
--
-- The password belongs in PGPASSWORD or a file named by PGPASSFILE, not on the command line.
--
-- Run it once, after `mahi migrate`. It holds a lock on the table while it copies the findings: publishes and reads of
-- results wait for it. Change the number of parts here: it can't be changed later without another copy.
begin;
lock table submission, result_block;
do $$
declare
  parts constant integer := 16;
begin
  if (select relkind from pg_class where oid = to_regclass('result_block')) = 'p' then
    raise exception 'the findings are already partitioned: there is nothing to do';
  end if;
  alter table result_block rename to result_block_whole;
  alter index result_block_pkey rename to result_block_whole_pkey;
  create table result_block (like result_block_whole including all) partition by hash (run);
  for part in 0 .. parts - 1 loop
    execute format(
      'create table result_block_%s partition of result_block for values with (modulus %s, remainder %s)',
      part, parts, part
    );
  end loop;
  insert into result_block select * from result_block_whole;
  drop table result_block_whole;
end
$$;
commit;
analyze result_block;
