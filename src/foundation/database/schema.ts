import { randomBytes } from 'node:crypto'
import type { Dialect } from './dialect.ts'
import type { Migration } from './migration.ts'

/** The tables of version 1.0, which `docs/data-model.md` describes. */
export const schema: Migration = {
  name: '1.0.0-2',
  statements: (dialect) => [
    ...bookkeeping(dialect),
    ...catalogue(dialect),
    ...history(dialect),
    ...search(dialect),
    ...submissions(dialect),
    ...files(dialect),
    ...findings(dialect),
    ...returns(dialect),
    ...access(dialect),
  ],
}

const bookkeeping = ({ text, identity }: Dialect): string[] => [
  `create table migration (name ${text} primary key, applied bigint not null)`,

  `create table revision (name ${text} primary key, number bigint not null, changed bigint not null)`,
  `insert into revision (name, number, changed)
   values ('catalogue', 0, 0), ('keys', 0, 0), ('run', 0, 0), ('search', 0, 0)`,

  `create table instance (name ${text} primary key, value ${text} not null)`,
  `insert into instance (name, value) values ('hash-key', '${randomBytes(32).toString('hex')}')`,

  `create table backup (
    program ${text} primary key,
    finished bigint,
    bytes bigint,
    failed bigint,
    reason ${text}
  )`,

  `create table job (
    id ${identity},
    kind ${text} not null,
    subject ${text} not null,
    eid ${text} not null,
    turn bigint not null,
    queued bigint not null,
    due bigint not null,
    attempts bigint not null,
    worker ${text},
    lease bigint,
    request ${text},
    unique (kind, subject)
  )`,
  'create index job_by_turn on job (turn, id)',
]

const catalogue = ({ text, identity, clustered, compress }: Dialect): string[] => [
  `create table occupation (
    code ${text} primary key,
    updated bigint not null,
    hash ${text} not null,
    filters ${text} not null,
    document ${text} not null,
    revision bigint not null
  )`,
  ...compress('occupation', 'document'),
  'create index occupation_by_revision on occupation (revision, code)',

  `create table occupation_filter (
    id ${identity},
    major ${text} not null,
    minor ${text} not null,
    total bigint not null,
    unique (major, minor)
  )`,
  `insert into occupation_filter (major, minor, total) values ('', '', 0)`,
  `create table occupation_posting (
    filter bigint not null,
    code ${text} not null,
    updated bigint not null,
    primary key (filter, code)
  ) ${clustered}`,
  'create index occupation_posting_by_date on occupation_posting (filter, updated, code)',
  `create table occupation_date (
    filter bigint not null,
    span bigint not null,
    start bigint not null,
    total bigint not null,
    primary key (filter, span, start)
  ) ${clustered}`,
]

const history = ({ text, compress }: Dialect): string[] => [
  `create table catalogue_revision (
    number bigint primary key,
    id ${text} not null,
    changed bigint not null,
    stored bigint not null,
    command ${text} not null,
    files ${text} not null,
    created bigint not null,
    updated bigint not null,
    deleted bigint not null,
    total bigint not null,
    kept bigint not null,
    pay_basis ${text} not null
  )`,
  // The empty catalogue, from which the history begins.
  `insert into catalogue_revision
    (number, id, changed, stored, command, files, created, updated, deleted, total, kept, pay_basis)
   values (0, '${randomBytes(16).toString('hex')}', 0, ${Date.now()}, 'migrate', '[]', 0, 0, 0, 0, 1, '')`,

  `create table occupation_past (
    code ${text} not null,
    until bigint not null,
    revision bigint not null,
    updated bigint not null,
    hash ${text} not null,
    filters ${text} not null,
    document ${text} not null,
    primary key (code, until)
  )`,
  ...compress('occupation_past', 'document'),
  'create index occupation_past_by_end on occupation_past (until, code)',

  `create table occupation_removed (
    code ${text} primary key,
    revision bigint not null,
    removed bigint not null,
    replaced_by ${text} not null
  )`,
  'create index occupation_removed_by_revision on occupation_removed (revision, code)',
]

const search = ({ text, bytes, clustered }: Dialect): string[] => [
  `create table search_name (
    code ${text} not null,
    language ${text} not null,
    name ${text} not null,
    source ${text} not null,
    primary key (code, language, name, source)
  ) ${clustered}`,
  `create table search_synonym (position bigint primary key, phrases ${text} not null)`,

  // In parts, because drivers handle values of many megabytes badly.
  `create table search_index (
    number bigint not null,
    changed bigint not null,
    format bigint not null,
    part bigint not null,
    bytes ${bytes} not null,
    primary key (number, changed, format, part)
  )`,
  // At most one row: that of the newest revision that could not be indexed.
  `create table search_failure (
    number bigint not null,
    changed bigint not null,
    format bigint not null,
    failed bigint not null,
    reason ${text} not null,
    primary key (number, changed, format)
  )`,

  // A decision without a code says that the reviewer knows none.
  `create table confirmed_coding (
    title_key ${text} not null,
    reviewer ${text} not null,
    id ${text} not null,
    title ${text} not null,
    language ${text} not null,
    code ${text},
    decided bigint not null,
    primary key (title_key, reviewer)
  ) ${clustered}`,
  'create index confirmed_coding_id on confirmed_coding (id)',
  'create index confirmed_coding_reviewer on confirmed_coding (reviewer)',
]

const submissions = (dialect: Dialect): string[] => {
  const { text, identity } = dialect
  return [
    // A submission that was only published has no `created`; the columns that can be null keep their defaults.
    `create table submission (
      token ${text} primary key,
      eid ${text} not null,
      return_id ${text} not null,
      run bigint not null,
      total bigint not null,
      published bigint not null,
      definition ${text},
      type ${text},
      created bigint,
      expires bigint,
      ended ${text},
      ended_at bigint,
      purged bigint,
      reopened_until bigint,
      revision bigint not null default 0,
      runs bigint not null default 0
    )`,
    'create index submission_by_eid on submission (eid, return_id)',
    'create index submission_by_return on submission (return_id)',

    `create table submission_explanation (
      token ${text} not null,
      id ${text} not null,
      document ${text} not null,
      sealed ${text},
      primary key (token, id)
    )`,
    `create table submission_receipt (
      token ${text} not null,
      number bigint not null,
      time bigint not null,
      document ${text} not null,
      sealed ${text},
      reopened ${text},
      primary key (token, number)
    )`,

    `create table activity (
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
    'create index activity_by_token on activity (token, id)',
    'create index activity_by_time on activity (time)',
    forbidUpdates(dialect, 'activity'),
  ]
}

/**
 * Lets rows be added and deleted, but not changed: on PostgreSQL by anybody but the owner of the table, because the
 * default privileges of the service's role apply to every new table.
 */
function forbidUpdates({ name }: Dialect, table: string): string {
  if (name === 'sqlite')
    return `create trigger ${table}_update before update on ${table}
      begin select raise(abort, '${table} is append-only'); end`
  return `do $$ declare role text; begin
      for role in select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
        from pg_class c cross join lateral aclexplode(c.relacl) a
        where c.oid = '${table}'::regclass and a.grantee <> c.relowner
      loop execute format('revoke update, truncate on ${table} from %s', role); end loop;
    end $$`
}

const files = ({ text, bytes, identity, clustered }: Dialect): string[] => [
  `create table submission_file (
    token ${text} not null,
    resource ${text} not null,
    version ${text} not null,
    previous ${text},
    primary key (token, resource)
  )`,
  `create table submission_job (
    id ${text} primary key,
    token ${text} not null,
    eid ${text} not null,
    work ${text} not null,
    resource ${text},
    revision bigint not null,
    status ${text} not null,
    received bigint not null,
    completed bigint,
    version ${text},
    document ${text} not null,
    sealed ${text}
  )`,
  'create index submission_job_by_token on submission_job (token)',
  'create index submission_job_by_version on submission_job (version)',
  `create table file_version (
    version ${text} primary key,
    token ${text} not null,
    resource ${text} not null,
    format ${text} not null,
    chunks bigint not null,
    records bigint not null,
    size bigint not null,
    digest ${text} not null,
    batches bigint not null,
    received bigint not null,
    sealed ${text},
    stored bigint not null,
    notes ${text}
  )`,
  'create index file_version_by_token on file_version (token)',
  `create table file_chunk (
    version ${text} not null,
    ordinal bigint not null,
    data ${bytes} not null,
    primary key (version, ordinal)
  )`,
  `create table file_record (
    version ${text} not null,
    local_id ${text} not null,
    primary key (version, local_id)
  ) ${clustered}`,
  // Versions, runs and submissions whose content is still to be deleted.
  `create table deletion (id ${identity}, owner ${text} not null, name ${text} not null)`,
]

const findings = ({ text, bytes, clustered, compress }: Dialect): string[] => [
  `create table submission_run (
    run bigint primary key,
    token ${text} not null,
    number bigint not null,
    eid ${text} not null,
    status ${text} not null,
    received bigint not null,
    started bigint,
    completed bigint,
    revision bigint not null,
    total bigint not null,
    errors bigint not null,
    warnings bigint not null,
    stopped bigint not null default 0,
    definition ${text},
    files ${text} not null,
    progress ${text},
    reason ${text},
    sealed ${text},
    summary ${text},
    trimmed bigint,
    previous bigint,
    unique (token, number)
  )`,
  // By the upper bound of their duration in milliseconds; 0 above the largest one.
  `create table run_count (
    status ${text} not null,
    bound bigint not null,
    total bigint not null,
    milliseconds bigint not null,
    primary key (status, bound)
  )`,

  // Not clustered: SQLite stores a row above 1 KB of a table without row numbers on pages of its own.
  `create table result_block (
    run bigint not null,
    part bigint not null,
    block bigint not null,
    content ${bytes} not null,
    primary key (run, part, block)
  )`,
  ...compress('result_block', 'content'),
  `create table result_posting (
    run bigint not null,
    field ${text} not null,
    bucket bigint not null,
    block bigint not null,
    total bigint not null,
    ordinals ${bytes} not null,
    primary key (run, field, bucket, block)
  ) ${clustered}`,
]

const returns = ({ text }: Dialect): string[] => [
  `create table collected_return (
    return_id ${text} primary key,
    name ${text} not null,
    definition ${text} not null,
    version ${text} not null,
    type ${text} not null,
    opens bigint not null,
    due bigint not null,
    closes bigint not null,
    eids ${text},
    notes ${text},
    zone ${text} not null
  )`,
  // The causes of the current run of a submission, without values.
  `create table submission_cause (
    token ${text} not null,
    position bigint not null,
    kind ${text} not null,
    severity ${text} not null,
    code ${text} not null,
    file ${text} not null,
    field ${text} not null,
    sentence ${text} not null,
    columns bigint not null,
    causes bigint not null,
    findings bigint not null,
    records bigint not null,
    primary key (token, position)
  )`,
]

const access = ({ text, clustered }: Dialect): string[] => [
  `create table api_key (
    id ${text} primary key,
    client ${text} not null,
    hash ${text} not null,
    scopes ${text} not null,
    eids ${text} not null,
    created bigint not null,
    expires bigint not null,
    revoked bigint
  )`,
  // Separate from the keys, because it changes often, and every process reads all keys again when one changes.
  `create table key_use (key_id ${text} primary key, used bigint not null) ${clustered}`,
  // Organisations whose requests are refused. Others have no row.
  `create table organisation_suspension (
    eid ${text} primary key,
    suspended bigint not null,
    reason ${text} not null
  )`,

  `create table console_session (
    hash ${text} primary key,
    key_id ${text},
    principal ${text} not null,
    created bigint not null,
    used bigint not null,
    expires bigint not null
  )`,
  'create index console_session_by_expiry on console_session (expires)',
  `create table console_link (
    hash ${text} primary key,
    key_id ${text} not null,
    name ${text},
    expires bigint not null
  )`,
  // Work of a person in the console that is not finished, such as the choices in a list.
  `create table console_draft (
    id ${text} primary key,
    owner ${text} not null,
    content ${text} not null,
    changed bigint not null
  )`,
  'create index console_draft_by_owner on console_draft (owner, changed)',
  'create index console_draft_by_change on console_draft (changed)',
]
