import type { Reader, Writer } from './database.ts'

/**
 * Returns the secret that the processes of this installation share, created with the tables. It keys the hashes that
 * replace subjects in logs.
 */
export async function readHashKey(reader: Reader): Promise<string> {
  const key = await readValue(reader, 'hash-key')
  if (key === undefined) throw new Error('the table instance has no row hash-key')
  return key
}

export async function readValue(reader: Reader, name: string): Promise<string | undefined> {
  return (await reader.get<{ value: string }>('select value from instance where name = $1', [name]))?.value
}

/** Stores a value of this installation, unless one with this name is stored. */
export async function keepValue(writer: Writer, name: string, value: string): Promise<void> {
  await writer.run('insert into instance (name, value) values ($1, $2) on conflict (name) do nothing', [
    name,
    value,
  ])
}

/** Stores a value of this installation, instead of an earlier one. */
export async function storeValue(writer: Writer, name: string, value: string): Promise<void> {
  await writer.run(
    'insert into instance (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    [name, value],
  )
}

/** The values of this installation whose names begin with a prefix, by the rest of the name. */
export async function readValues(reader: Reader, prefix: string): Promise<Map<string, string>> {
  const rows = await reader.all<{ name: string; value: string }>(
    'select name, value from instance where name like $1 order by name',
    [`${prefix}%`],
  )
  return new Map(rows.map(({ name, value }) => [name.slice(prefix.length), value]))
}
