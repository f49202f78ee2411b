import type { Migration } from './migration.ts'

/** Who did what with a submission. Rows are added and, with the submission, deleted; nobody changes them. */
export const activity: Migration = {
  name: '0016-activity',
  statements: ({ name, identity, text }) => [
    `create table submission_activity (
      id ${identity},
      token ${text} not null,
      time bigint not null,
      event ${text} not null,
      actor ${text} not null,
      actor_name ${text} not null,
      file ${text},
      run bigint,
      detail ${text} not null
    )`,
    'create index submission_activity_by_token on submission_activity (token, id)',
    'create index submission_activity_by_time on submission_activity (time)',
    ...(name === 'sqlite' ? [NO_UPDATE] : [REVOKE]),
  ],
}

const NO_UPDATE = `create trigger submission_activity_update before update on submission_activity
  begin select raise(abort, 'submission_activity is append-only'); end`

/** The default privileges of the service's role apply to every new table; retention deletes the rows of a deleted submission. */
const REVOKE = `do $$ declare role text; begin
  for role in select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = 'submission_activity'::regclass and a.grantee <> c.relowner
  loop execute format('revoke update, truncate on submission_activity from %s', role); end loop;
end $$`
