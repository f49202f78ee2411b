#!/bin/bash
# Each day: dumps the database into /backups, keeps the newest dumps, and records how it went for
# mahi_backup_age_seconds. The address and the password of the server are in the environment (PGHOST, PGUSER, PGPASSWORD,
# PGDATABASE). With an argument, it does this once.
set -uo pipefail
folder=${BACKUP_FOLDER:-/backups}

record() {
  psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --set bytes="$1" --set reason="$2" <<'SQL'
insert into backup (program, finished, bytes, failed, reason)
values (
  'pg_dump',
  case when :'reason' = '' then (extract(epoch from now()) * 1000)::bigint end,
  nullif(:'bytes', '')::bigint,
  case when :'reason' <> '' then (extract(epoch from now()) * 1000)::bigint end,
  nullif(:'reason', '')
)
on conflict (program) do update set
  finished = coalesce(excluded.finished, backup.finished),
  bytes = coalesce(excluded.bytes, backup.bytes),
  failed = excluded.failed,
  reason = excluded.reason;
SQL
}

backup() {
  local name part
  name=mahi-$(date -u +%Y%m%dT%H%M%SZ).backup
  part=$folder/$name.part
  umask 077
  rm -f -- "$folder"/*.part
  if pg_dump --format=custom --no-owner --file="$part" && pg_restore --list "$part" >/dev/null; then
    mv "$part" "$folder/$name"
    find "$folder" -maxdepth 1 -name 'mahi-*.backup' | sort -r | tail -n "+$((${BACKUP_KEEP:-14} + 1))" | xargs -r rm -f --
    record "$(stat -c %s "$folder/$name")" ''
    echo "Wrote $folder/$name."
  else
    rm -f -- "$part"
    record '' 'pg_dump failed: its log says why' || true
    echo "No backup was written; earlier ones are unchanged. Correct what is above; the next attempt is in ${BACKUP_RETRY:-3600} seconds." >&2
    return 1
  fi
}

if [ $# -gt 0 ]; then
  backup
  exit
fi
trap 'exit 0' TERM
while true; do
  pause=${BACKUP_SECONDS:-86400}
  backup || pause=${BACKUP_RETRY:-3600}
  sleep "$pause" &
  wait $!
done
