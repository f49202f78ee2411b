// One program that is measured, in a process of its own: node bench/checks/program.ts NAME FOLDER
// Prints {"cpuSeconds", "seconds", "rssMb", "records", "findings"}.
import { spawnSync } from 'node:child_process'
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Field, Resource } from '../../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../../src/engines/checking/definition/load.ts'
import { FIELD_KINDS } from '../../src/engines/checking/definition/read-field.ts'
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
        cap: 100_000,
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
  const command = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
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

function parseWithPapaparse(path: string, onRow: ((row: Row) => void) | undefined): Promise<void> {
  const Papa = peers('papaparse')
  return new Promise((resolve, reject) => {
    Papa.parse(createReadStream(path, { highWaterMark: 1 << 20 }), {
      header: onRow !== undefined,
      step: ({ data }: { data: Row }) => onRow?.(data),
      complete: () => resolve(),
      error: reject,
    })
  })
}

async function runPapaparse(compile?: (resource: Resource) => CountFaults): Promise<Outcome> {
  const outcome: Outcome = { records: 0, findings: 0 }
  for (const { resource, path } of files) {
    const count = compile?.(resource)
    await parseWithPapaparse(
      path,
      count &&
        ((row) => {
          outcome.records++
          outcome.findings += count(row)
        }),
    )
  }
  return outcome
}

const isEmpty = (value: string | undefined) => value === undefined || value === ''

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

function compileZod({ fields }: Resource): CountFaults {
  const { z } = peers('zod')
  const shape = Object.fromEntries(
    fields.map((field) => {
      const {
        pattern,
        maxLength,
        enum: values,
      } = toJsonSchema(field) as { pattern?: string; maxLength?: number; enum?: string[] }
      let schema = values === undefined ? z.string() : z.enum(values)
      if (pattern !== undefined && values === undefined) schema = schema.regex(new RegExp(pattern))
      if (maxLength !== undefined && values === undefined) schema = schema.max(maxLength)
      return [field.name, field.required ? schema : schema.optional()]
    }),
  )
  const object = z.object(shape)
  return (row) => {
    const present = Object.fromEntries(Object.entries(row).filter(([, value]) => !isEmpty(value)))
    const { success, error } = object.safeParse(present)
    return success ? 0 : error.issues.length
  }
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

async function runTableschema(): Promise<Outcome> {
  const { Table } = peers('tableschema')
  const outcome: Outcome = { records: 0, findings: 0 }
  for (const { resource, path } of files) {
    const fields = resource.fields.map(({ name: own, type, required, limits }) => ({
      name: own,
      type: type === 'list' ? 'string' : type,
      constraints: { required, ...(limits.pattern === undefined ? {} : { pattern: limits.pattern }) },
    }))
    const table = await Table.load(path, { schema: { fields } })
    const rows = await table.iter({ forceCast: true, stream: true })
    for await (const row of rows as AsyncIterable<unknown>) {
      outcome.records++
      if (row instanceof Error) outcome.findings++
    }
  }
  return outcome
}

const fieldCodes = definition.resources.flatMap(({ fields }) =>
  fields.flatMap(({ checks }) =>
    FIELD_KINDS.flatMap((kind) => (kind === 'unique' ? [] : (checks[kind]?.code ?? []))),
  ),
)

const PROGRAMS: Readonly<Record<string, () => Promise<Outcome>>> = {
  papaparse: () => runPapaparse(),
  'mahi check': async () => runCommand(),
  'mahi, complete': () => runMahi([]),
  'mahi, fields only': () => runMahi(fieldCodes),
  'papaparse with zod': () => runPapaparse(compileZod),
  'csv-parse with ajv': runCsvParse,
  tableschema: runTableschema,
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
