#!/bin/sh
# Makes the roles of the service, unless they are there, and gives them their privileges on the database POSTGRES_DB.
# mahi_owner owns the tables and changes them: only migrations use it. mahi, which serves and runs the commands, may read
# and write rows, and make temporary tables for imports.
set -eu
export OWNER_PASSWORD="${OWNER_PASSWORD-}" MAHI_PASSWORD="${MAHI_PASSWORD-}"
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set database="$POSTGRES_DB" <<'SQL'
-- From the environment: on the command line, passwords would be visible in lists of processes.
\getenv owner_password OWNER_PASSWORD
\getenv mahi_password MAHI_PASSWORD
select format('create role %I login password %L', name, password)
from (values ('mahi_owner', :'owner_password'), ('mahi', :'mahi_password')) role (name, password)
where name not in (select rolname from pg_roles) \gexec
revoke all on database :"database" from public;
revoke all on schema public from public;
grant connect, temporary on database :"database" to mahi, mahi_owner;
grant usage, create on schema public to mahi_owner;
grant usage on schema public to mahi;
alter default privileges for role mahi_owner in schema public
  grant select, insert, update, delete on tables to mahi;
alter default privileges for role mahi_owner in schema public
  grant usage, select on sequences to mahi;
SQL
