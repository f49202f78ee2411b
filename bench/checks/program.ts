// One program that is measured, in a process of its own: node bench/checks/program.ts NAME FOLDER
// Prints {"cpuSeconds", "seconds", "rssMb", "records", "findings"}.
import { spawnSync } from 'node:child_process'
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Field, Resource } from '../../src/engines/checking/definition/definition.ts'
import { FIELD_KINDS } from '../../src/engines/checking/definition/field-kinds.ts'
import { findDefinition, loadDefinition } from '../../src/engines/checking/definition/load.ts'
import { runEngine } from '../../src/engines/checking/engine/run.ts'
import type { CheckSummary } from '../../src/engines/checking/engine/summary.ts'

const [name = '', folder = ''] = process.argv.slice(2)
// Loaded only by the program that uses it, as its memory is measured.
const own = createRequire(import.meta.url)
const peers = createRequire(new URL('../peers/checks/package.json', import.meta.url))
const definition = loadDefinition(findDefinition('sdr'))

/** The files that are there, with their resources. */
const files = definition.resources.flatMap((resource) => {
  const present = readdirSync(folder).find((each) => each === resource.path)
  return present === undefined ? [] : [{ resource, name: present, path: join(folder, present) }]
})

interface Outcome {
  records: number
  findings: number
}

async function runMahi(only: readonly string[]): Promise<Outcome> {
  const temporary = mkdtempSync(join(tmpdir(), 'mahi-bench-'))
  try {
    const {
      files: read,
      errors,
      warnings,
    } = await runEngine(
      {
        definition,
        files: files.map(({ resource, ...file }) => ({ ...file, resource: resource.name })),
        complete: true,
        only,
        findingsOfCode: 100_000,
        findingsBytes: 1e9,
        diskBytes: 64 * 1024 ** 3,
        skip: {},
        folder: join(temporary, 'work'),
        output: join(temporary, 'findings.ndjson'),
      },
      () => undefined,
    )
    return { records: read.reduce((sum, { records }) => sum + records, 0), findings: errors + warnings }
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** The command as it is installed, from its start to its last line. Its findings exit 1. */
function runCommand(): Outcome {
  const command = fileURLToPath(new URL('../../dist/src/start.js', import.meta.url))
  const { stdout } = spawnSync(process.execPath, [command, 'check', folder, '--json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { files: read, errors, warnings } = JSON.parse(stdout) as CheckSummary
  return { records: read.reduce((sum, { records }) => sum + records, 0), findings: errors + warnings }
}

/** CPU seconds of the processes that this one has started and that have ended, where the system shows them. */
function readChildCpuSeconds(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    // In hundredths, by proc_pid_stat(5): the fields 16 and 17, of which the first two are left out here.
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return 0
  }
}

type Row = Record<string, string>
type CountFaults = (row: Row) => number

/** The floor: it only reads. */
async function runPapaparse(): Promise<Outcome> {
  const Papa = peers('papaparse')
  for (const { path } of files)
    await new Promise<void>((resolve, reject) => {
      const input = createReadStream(path, { highWaterMark: 1 << 20 })
      Papa.parse(input, { step: () => undefined, complete: () => resolve(), error: reject })
    })
  return { records: 0, findings: 0 }
}

const isEmpty = (value: string | undefined) => value === undefined || value === ''

const quoteName = (text: string) => `"${text.replaceAll('"', '""')}"`
const quoteText = (text: string) => `'${text.replaceAll("'", "''")}'`

/** The same checks of fields, and the keys and references of the definition, as conditions of SQL over text. */
function listConditions({ name: table, fields, primaryKey, foreignKeys }: Described): string[] {
  const conditions = fields.flatMap((field) => {
    const column = quoteName(field.name)
    const schema = toJsonSchema(field) as { pattern?: string; maxLength?: number; enum?: string[] }
    const texts: string[] = []
    if (field.required) texts.push(`${column} is null`)
    if (schema.pattern !== undefined)
      texts.push(
        `not regexp_full_match(${column}, ${quoteText(schema.pattern.replace(/^\^(.*)\$$/s, '$1'))})`,
      )
    if (schema.maxLength !== undefined) texts.push(`length(${column}) > ${schema.maxLength}`)
    if (schema.enum !== undefined) texts.push(`${column} not in (${schema.enum.map(quoteText).join(', ')})`)
    return texts
  })
  const tuple = (names: readonly string[]) => `(${names.map(quoteName).join(', ')})`
  const present = (names: readonly string[]) =>
    names.map((each) => `${quoteName(each)} is not null`).join(' and ')
  if (primaryKey.length > 0) {
    const key = primaryKey.map(quoteName).join(', ')
    const from = `from ${quoteName(table)} where ${present(primaryKey)}`
    conditions.push(
      `${tuple(primaryKey)} in (select ${tuple(primaryKey)} ${from} group by ${key} having count(*) > 1)`,
    )
  }
  for (const { from, table: other, to } of foreignKeys)
    conditions.push(
      `${present(from)} and ${tuple(from)} not in (select ${tuple(to)} from ${quoteName(other)} where ${present(to)})`,
    )
  return conditions
}

interface Described {
  readonly name: string
  readonly fields: readonly Field[]
  readonly primaryKey: readonly string[]
  readonly foreignKeys: readonly {
    readonly from: readonly string[]
    readonly table: string
    readonly to: readonly string[]
  }[]
}

/** The keys as the descriptor has them, because the definition has compiled them. */
function describeKeys(): ReadonlyMap<string, Described> {
  const path = join(findDefinition('sdr'), 'datapackage.json')
  const { resources } = JSON.parse(readFileSync(path, 'utf8')) as {
    resources: {
      name: string
      schema: {
        primaryKey?: string[]
        foreignKeys?: { fields: string[]; reference: { resource: string; fields: string[] } }[]
      }
    }[]
  }
  return new Map(
    definition.resources.map((resource) => {
      const schema = resources.find(({ name: each }) => each === resource.name)?.schema
      const foreignKeys = (schema?.foreignKeys ?? []).map(({ fields, reference }) => ({
        from: fields,
        table: reference.resource,
        to: reference.fields,
      }))
      const { name: own, fields } = resource
      return [own, { name: own, fields, primaryKey: schema?.primaryKey ?? [], foreignKeys }]
    }),
  )
}

/** The checks of fields, keys and references; each finding is written with its record. */
async function runDuckDb(): Promise<Outcome> {
  const { DuckDBInstance } = await import(peers.resolve('@duckdb/node-api'))
  const temporary = mkdtempSync(join(tmpdir(), 'mahi-bench-'))
  try {
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const ask = async (sql: string): Promise<number[]> =>
      (await connection.runAndReadAll(sql)).getRows()[0].map(Number)
    const outcome: Outcome = { records: 0, findings: 0 }
    const described = describeKeys()
    for (const { resource, path } of files)
      await connection.run(
        `create table ${quoteName(resource.name)} as select row_number() over () as "mahi:row", *
         from read_csv(${quoteText(path)}, header = true, all_varchar = true, ignore_errors = true)`,
      )
    for (const { resource } of files) {
      const table = quoteName(resource.name)
      const conditions = listConditions(described.get(resource.name) as Described)
      const [records = 0] = await ask(`select count(*) from ${table}`)
      outcome.records += records
      const rows = conditions.map(
        (each, index) => `select ${index} as "mahi:check", * from ${table} where ${each}`,
      )
      const output = quoteText(join(temporary, `${resource.name}.ndjson`))
      const [written = 0] = await ask(
        `copy (${rows.join(' union all by name ')} order by "mahi:row", "mahi:check") to ${output} (format json)`,
      )
      outcome.findings += written
    }
    return outcome
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** The same checks of fields as the definition's, as far as JSON Schema can state them over text. */
function compileAjv({ fields }: Resource): CountFaults {
  const properties = Object.fromEntries(fields.map((field) => [field.name, toJsonSchema(field)]))
  const required = fields.filter((field) => field.required).map((field) => field.name)
  const { Ajv } = own('ajv') as typeof import('ajv')
  const validate = new Ajv({ allErrors: true, strict: false }).compile({
    type: 'object',
    required,
    properties,
  })
  return (row) => {
    const present = Object.fromEntries(Object.entries(row).filter(([, value]) => !isEmpty(value)))
    return validate(present) ? 0 : (validate.errors?.length ?? 0)
  }
}

function toJsonSchema({ type, limits, permitted }: Field): object {
  const pattern = limits.pattern === undefined ? TYPE_PATTERNS[type] : `^(?:${limits.pattern})$`
  return {
    type: 'string',
    ...(pattern === undefined ? {} : { pattern }),
    ...(limits.maxLength === undefined || type === 'list' ? {} : { maxLength: limits.maxLength }),
    ...(permitted === undefined || type === 'list' ? {} : { enum: permitted.map(({ value }) => value) }),
  }
}

const TYPE_PATTERNS: Readonly<Record<string, string>> = {
  integer: '^-?[0-9]+$',
  number: '^-?[0-9]+(?:\\.[0-9]+)?$',
  date: '^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$',
  year: '^[0-9]{4}$',
}

async function runCsvParse(): Promise<Outcome> {
  const { parse } = own('csv-parse') as typeof import('csv-parse')
  const outcome: Outcome = { records: 0, findings: 0 }
  for (const { resource, path } of files) {
    const count = compileAjv(resource)
    const rows = createReadStream(path, { highWaterMark: 1 << 18 }).pipe(parse({ columns: true, bom: true }))
    for await (const row of rows as AsyncIterable<Row>) {
      outcome.records++
      outcome.findings += count(row)
    }
  }
  return outcome
}

const fieldCodes = definition.resources.flatMap(({ fields }) =>
  fields.flatMap(({ checks }) =>
    Object.keys(FIELD_KINDS).flatMap((kind) => (kind === 'unique' ? [] : (checks[kind]?.code ?? []))),
  ),
)

const PROGRAMS: Readonly<Record<string, () => Promise<Outcome>>> = {
  papaparse: runPapaparse,
  'mahi check': async () => runCommand(),
  'mahi, complete': () => runMahi([]),
  'mahi, fields only': () => runMahi(fieldCodes),
  'csv-parse with ajv': runCsvParse,
  DuckDB: runDuckDb,
}

const run = PROGRAMS[name]
if (run === undefined) throw new Error(`unknown program ${name}: ${Object.keys(PROGRAMS).join(', ')}`)
const started = performance.now()
const before = process.cpuUsage()
const outcome = await run()
const { user, system } = process.cpuUsage(before)
const measured = {
  cpuSeconds: (user + system) / 1e6 + readChildCpuSeconds(),
  seconds: (performance.now() - started) / 1000,
  rssMb: Math.round(process.resourceUsage().maxRSS / 1024),
  ...outcome,
}
process.stdout.write(`${JSON.stringify(measured)}\n`)
