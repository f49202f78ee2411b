import type { Migration } from './migration.ts'

/**
 * Who read or changed which submission. Nobody but the owner of the table may change or delete a row: on PostgreSQL by
 * privileges, on SQLite, which has no roles, by triggers. Migration 0028 drops it.
 */
export const accessLog: Migration = {
  name: '0013-access-log',
  statements: ({ name, identity, text }) => [
    `create table access_log (
      id ${identity},
      time bigint not null,
      until bigint not null,
      times bigint not null,
      request ${text} not null,
      credential ${text} not null,
      eid ${text} not null,
      operation ${text} not null,
      change bigint not null,
      submission ${text}
    )`,
    'create index access_log_time on access_log (time)',
    ...(name === 'sqlite' ? APPEND_ONLY : [REVOKE]),
  ],
}

const APPEND_ONLY = ['update', 'delete'].map(
  (event) => `create trigger access_log_${event} before ${event} on access_log
    begin select raise(abort, 'access_log is append-only'); end`,
)

/** The default privileges of the service's role apply to every new table. */
const REVOKE = `do $$ declare role text; begin
  for role in select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = 'access_log'::regclass and a.grantee <> c.relowner
  loop execute format('revoke update, delete, truncate on access_log from %s', role); end loop;
end $$`
