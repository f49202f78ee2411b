import type { Migration } from './migration.ts'

/** Uploaded submissions, their files and runs, and the queue: see `docs/data-model.md`. */
export const submissions: Migration = {
  name: '0003-submissions',
  statements: ({ text, bytes, identity, clustered, compress }) => [
    // A submission that was only published has no `created`; these columns keep their defaults.
    `alter table submission add column definition ${text}`,
    `alter table submission add column type ${text}`,
    'alter table submission add column created bigint',
    'alter table submission add column expires bigint',
    `alter table submission add column ended ${text}`,
    'alter table submission add column ended_at bigint',
    'alter table submission add column purged bigint',
    'alter table submission add column revision bigint not null default 0',
    'alter table submission add column runs bigint not null default 0',
    `alter table submission add column sealed ${text}`,
    'create index submission_by_eid on submission (eid, return_id)',

    `alter table result_entry add column detail ${text}`,
    ...compress('result_entry', 'detail'),
    `create table result_posting (
      run bigint not null,
      field ${text} not null,
      value ${text} not null,
      block bigint not null,
      total bigint not null,
      ordinals ${bytes} not null,
      primary key (run, field, value, block)
    ) ${clustered}`,

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
      definition ${text},
      files ${text} not null,
      progress ${text},
      reason ${text},
      sealed ${text},
      summary ${text},
      unique (token, number)
    )`,

    `create table submission_file (
      token ${text} not null,
      resource ${text} not null,
      version ${text},
      writer ${text},
      writer_until bigint,
      primary key (token, resource)
    )`,
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
      stored bigint not null
    )`,
    'create index file_version_by_token on file_version (token)',
    `create table file_chunk (
      version ${text} not null,
      ordinal bigint not null,
      kind ${text} not null,
      data ${bytes} not null,
      primary key (version, ordinal)
    )`,

    `create table file_record (
      version ${text} not null,
      local_id ${text} not null,
      copies bigint not null,
      primary key (version, local_id)
    ) ${clustered}`,

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
      unique (kind, subject)
    )`,
    'create index job_by_turn on job (turn, id)',

    `create table audit (
      id ${identity},
      time bigint not null,
      event ${text} not null,
      eid ${text} not null,
      subject ${text} not null,
      actor ${text} not null,
      detail ${text} not null
    )`,
  ],
}
