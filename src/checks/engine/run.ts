import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Check, Definition, Operand, RecordCheck, Resource, SqlRule } from '../definition/definition.ts'
import { describeCheck } from '../explain.ts'
import { type Parameters, resolveParameters } from '../parameters.ts'
import { checkResource } from './check-resource.ts'
import { Found } from './found.ts'
import { KeySpace, orderResources } from './keys.ts'
import { NoRoom, type PreparedFile, prepareFile } from './prepare-file.ts'
import { QueryRefused } from './query.ts'
import { openFile } from './read-file.ts'
import { type RecordStep, References } from './references.ts'
import { compilePositions, selectChecks } from './selection.ts'
import { listUses, SqlStore } from './sql-store.ts'
import { FileFull } from './sqlite-file.ts'
import type { CheckSummary, FileSummary } from './summary.ts'
import { type CheckedFile, FindingsWriter } from './write-findings.ts'

/** A file to check. */
export interface InputFile {
  /** Name of its resource. */
  readonly resource: string
  readonly path: string
  /** File name in findings, such as `enrolments.csv`; its extension determines the format. */
  readonly name: string
}

export interface EngineInput {
  /** The definition, or its folder. */
  readonly definition: Definition | string
  readonly files: readonly InputFile[]
  /** Whether an absent file is a finding; otherwise only the given files are checked. */
  readonly complete: boolean
  readonly returnId?: string | undefined
  readonly asOf?: string | undefined
  readonly only: readonly string[]
  /** The maximum number of findings written for each code. */
  readonly cap: number
  /** The maximum size of temporary files, in bytes. */
  readonly diskBytes: number
  /** Rules that must not run, with the reason. */
  readonly skip: Readonly<Record<string, string>>
  /** Folder for temporary files. */
  readonly folder: string
  /** Where the findings are written, as NDJSON. */
  readonly output: string
  /** The number of bytes to read at once. */
  readonly chunk?: number
}

/** The current step of the engine. */
export type EngineProgress =
  | { readonly phase: 'read'; readonly file: string; readonly records: number }
  | { readonly phase: 'rule'; readonly code: string }
  | { readonly phase: 'write' }

/** The number of bytes to read at once. V8 frees their text late, so larger blocks use much more memory and save no time. */
const CHUNK = 1 << 18

interface Opened {
  readonly input: InputFile
  readonly prepared: PreparedFile
}

/**
 * Checks files against a definition and writes the findings. It runs in a separate process, because it blocks and a
 * rule may never end. Everything except `seconds` depends only on the input.
 */
export async function runEngine(
  input: EngineInput,
  onProgress: (progress: EngineProgress) => void,
): Promise<CheckSummary> {
  const started = performance.now()
  const definition =
    typeof input.definition === 'string' ? await readDefinition(input.definition) : input.definition
  const parameters = resolveParameters(definition, input)
  mkdirSync(input.folder, { recursive: true })
  const run = new Run(definition, parameters, input, onProgress)
  await run.prepare()
  run.check()
  run.runRules()
  const writer = run.write()
  return run.summarise(writer, Math.round(performance.now() - started) / 1000)
}

/** Most callers have already read the definition, so the modules that read YAML are loaded only if needed. */
async function readDefinition(folder: string): Promise<Definition> {
  const { loadDefinition } = await import('../definition/load.ts')
  return loadDefinition(folder)
}

class Run {
  readonly #definition: Definition
  readonly #parameters: Parameters
  readonly #input: EngineInput
  readonly #progress: (progress: EngineProgress) => void
  readonly #positions: ReadonlyMap<Resource, (check: Check | undefined) => number>
  readonly #found: ReadonlyMap<Resource, Found>
  readonly #opened = new Map<Resource, Opened>()
  readonly #checked = new Map<Resource, CheckedFile>()
  readonly #files = new Map<Resource, FileSummary>()
  /** Why a file has no records, for the rules that need it. */
  readonly #absent = new Map<string, string>()
  readonly #missingFields = new Map<string, ReadonlySet<number>>()
  readonly #notRun = new Map<Check, string>()
  #store: SqlStore | undefined
  #storeFault: string | undefined

  constructor(
    definition: Definition,
    parameters: Parameters,
    input: EngineInput,
    progress: (progress: EngineProgress) => void,
  ) {
    this.#definition = definition
    this.#parameters = parameters
    this.#input = input
    this.#progress = progress
    const selection = selectChecks(parameters, input.only)
    const { resources } = definition
    this.#positions = new Map(resources.map((each) => [each, compilePositions(each, selection)]))
    this.#found = new Map(resources.map((each) => [each, new Found(each.checks.length, input.cap)]))
  }

  #position(resource: Resource, check: Check): number {
    return this.#notRun.has(check) ? -1 : (this.#positions.get(resource)?.(check) ?? -1)
  }

  #foundIn(resource: Resource): Found {
    const found = this.#found.get(resource)
    if (found === undefined) throw new Error(`the definition has no resource ${resource.name}`)
    return found
  }

  #skip = (check: Check, reason: string): void => {
    if (!this.#notRun.has(check)) this.#notRun.set(check, reason)
  }

  /** Examines every file before any record is read. */
  async prepare(): Promise<void> {
    let room = this.#input.diskBytes
    for (const resource of this.#definition.resources) {
      const input = this.#input.files.find((each) => each.resource === resource.name)
      if (input === undefined) {
        this.#reportAbsent(resource)
        continue
      }
      const name = `${resource.name}.utf8`
      try {
        const prepared = await prepareFile(input.path, { folder: this.#input.folder, name, room })
        if (prepared.path !== input.path) room -= prepared.bytes
        this.#opened.set(resource, { input, prepared })
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error
        const fault = 'Unpacking or converting the file needs more disk space than is allowed.'
        this.#unreadable(resource, input, fault, { bytes: 0, sha256: undefined, encoding: undefined })
      }
    }
  }

  #reportAbsent(resource: Resource): void {
    const { name, path, fileType, fileCheck } = resource
    this.#absent.set(name, `The file ${path} is missing.`)
    this.#files.set(resource, {
      resource: name,
      fileType,
      file: path,
      state: 'missing',
      bytes: 0,
      records: 0,
      sha256: undefined,
      encoding: undefined,
    })
    if (!this.#input.complete || resource.optional) return
    this.#addFileFindings(resource, path, fileCheck, [{ message: `The file ${path} is missing.` }])
  }

  #addFileFindings(
    resource: Resource,
    name: string,
    check: Check,
    messages: readonly { message: string; field?: string }[],
  ): void {
    const position = this.#position(resource, check)
    const known = this.#checked.get(resource)
    const fileMessages = new Map(known?.fileMessages ?? [])
    fileMessages.set(check, [...(fileMessages.get(check) ?? []), ...messages])
    const found = this.#foundIn(resource)
    if (position !== -1) for (const _ of messages) found.add(position, 0)
    this.#checked.set(resource, { resource, found, name, fileMessages, records: known?.records })
  }

  #unreadable(
    resource: Resource,
    { name }: InputFile,
    fault: string,
    facts: Pick<FileSummary, 'bytes' | 'sha256' | 'encoding'>,
  ): void {
    this.#absent.set(resource.name, `The file ${name} cannot be read.`)
    this.#addFileFindings(resource, name, resource.fileCheck, [{ message: fault }])
    this.#files.set(resource, {
      resource: resource.name,
      fileType: resource.fileType,
      file: name,
      state: 'unreadable',
      ...facts,
      records: 0,
    })
  }

  /** Reads every file once and runs all checks except the SQL rules. */
  check(): void {
    const order = orderResources(this.#definition)
    const files = new Map<Resource, ReturnType<typeof openFile>>()
    for (const [resource, { input, prepared }] of this.#opened) {
      const { bytes, sha256, encoding } = prepared
      const facts = { bytes, sha256, encoding }
      if (!prepared.readable) {
        this.#unreadable(resource, input, prepared.faults[0] ?? '', facts)
        continue
      }
      const file = openFile(prepared, input.name, resource, this.#input.chunk ?? CHUNK)
      if (file.fault !== undefined) {
        file.reader.close()
        this.#unreadable(resource, input, file.fault, facts)
        continue
      }
      files.set(resource, file)
      this.#missingFields.set(resource.name, file.columns.missing)
      if (prepared.faults.length > 0)
        this.#addFileFindings(
          resource,
          input.name,
          resource.fileCheck,
          prepared.faults.map((message) => ({ message })),
        )
      this.#addFileFindings(resource, input.name, resource.headerCheck, file.columns.faults)
    }
    this.#skipRecordChecks()
    this.#openStore()
    const references = new References(this.#definition, new KeySpace(), {
      position: (check) => this.#positionOf(check),
      found: (resource) => this.#foundIn(resource),
      obstacle: (uses) => this.#obstacle(uses),
      skip: this.#skip,
    })
    for (const resource of order) {
      const file = files.get(resource)
      const steps = references.start(resource)
      if (file !== undefined) this.#checkFile(resource, file, steps)
      references.end(resource)
    }
    references.finish()
  }

  #positionOf(check: Check): number {
    const resource = this.#definition.resources.find((each) => each.checks.includes(check))
    return resource === undefined ? -1 : this.#position(resource, check)
  }

  #checkFile(resource: Resource, file: ReturnType<typeof openFile>, steps: readonly RecordStep[]): void {
    const opened = this.#opened.get(resource)
    if (opened === undefined) return
    const { input, prepared } = opened
    const table = this.#loadTable(resource)
    const index = checkResource({
      resource,
      file,
      found: this.#foundIn(resource),
      parameters: this.#parameters,
      position: (check) => (check === undefined ? -1 : this.#position(resource, check)),
      steps,
      store: table?.add,
      onRecords: (records) => this.#progress({ phase: 'read', file: input.name, records }),
    })
    table?.end()
    file.reader.close()
    const late = file.lateFaults()
    if (late.length > 0) this.#addFileFindings(resource, input.name, resource.headerCheck, late)
    this.#addFileFindings(resource, input.name, resource.headerCheck, [])
    const checked = this.#checked.get(resource)
    if (checked !== undefined)
      this.#checked.set(resource, { ...checked, records: { path: prepared.path, file, index } })
    this.#files.set(resource, {
      resource: resource.name,
      fileType: resource.fileType,
      file: input.name,
      state: 'checked',
      bytes: prepared.bytes,
      records: index.count,
      sha256: prepared.sha256,
      encoding: prepared.encoding,
    })
  }

  /** The reason why a check of these files and fields cannot run, if any. */
  #obstacle(uses: readonly { resource: string; fields: readonly number[] }[]): string | undefined {
    for (const { resource: name, fields } of uses) {
      const absent = this.#absent.get(name)
      if (absent !== undefined) return absent
      const missing = this.#missingFields.get(name)
      const field = fields.find((each) => missing?.has(each))
      const resource = this.#definition.resources.find((each) => each.name === name)
      if (field !== undefined && resource !== undefined)
        return `The file ${resource.path} has no column ${resource.fields[field]?.name}.`
    }
    return undefined
  }

  #skipRecordChecks(): void {
    for (const resource of this.#definition.resources) {
      for (const each of resource.recordChecks) {
        if (each.kind === 'referenced' || this.#position(resource, each.check) === -1) continue
        const reason =
          each.kind === 'spread' && this.#parameters.returnYear === null
            ? 'The return has no year.'
            : this.#obstacle([{ resource: resource.name, fields: listFields(each) }])
        if (reason !== undefined) this.#skip(each.check, reason)
      }
    }
  }

  #openStore(): void {
    const rules = this.#definition.resources.flatMap((resource) =>
      resource.rules.filter((rule) => this.#isRunnable(resource, rule)),
    )
    if (rules.length === 0) return
    const path = join(this.#input.folder, 'rules.db')
    this.#store = new SqlStore(this.#definition, rules, path, this.#input.diskBytes)
  }

  #isRunnable(resource: Resource, rule: SqlRule): boolean {
    if (this.#position(resource, rule.check) === -1) return false
    const uses = listUses(this.#definition, rule).map((use) => ({ ...use, resource: use.resource.name }))
    const reason = this.#input.skip[rule.check.code] ?? this.#obstacle(uses)
    if (reason !== undefined) this.#skip(rule.check, reason)
    return reason === undefined
  }

  /** Loads a file for the SQL rules. If the disk is full, only these rules do not run. */
  #loadTable(resource: Resource): ReturnType<SqlStore['load']> {
    const table = this.#try(() => this.#store?.load(resource))
    if (table === undefined) return undefined
    return {
      add: (record, values) => {
        if (this.#storeFault !== undefined) return
        try {
          table.add(record, values)
        } catch (error) {
          this.#noteStoreFault(error)
        }
      },
      end: () => {
        if (this.#storeFault === undefined) this.#try(() => table.end())
      },
    }
  }

  #try<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#noteStoreFault(error)
      return undefined
    }
  }

  #noteStoreFault(error: unknown): void {
    const isFull =
      error instanceof FileFull || /^SQLITE_(?:FULL|IOERR)/.test((error as { code?: string }).code ?? '')
    if (!isFull) throw error
    this.#storeFault = 'The rules need more disk space than is allowed.'
  }

  /** Runs the SQL rules one after another. */
  runRules(): void {
    const store = this.#store
    if (store === undefined) return
    if (this.#storeFault === undefined) this.#try(() => store.finish())
    for (const resource of this.#definition.resources) {
      const found = this.#foundIn(resource)
      for (const rule of resource.rules) {
        const position = this.#position(resource, rule.check)
        if (position === -1) continue
        if (this.#storeFault !== undefined) {
          this.#skip(rule.check, this.#storeFault)
          continue
        }
        this.#progress({ phase: 'rule', code: rule.check.code })
        try {
          store.run(rule, this.#parameters, (record, extras) => found.add(position, record, extras))
        } catch (error) {
          this.#skip(rule.check, explainRuleFailure(error))
        }
      }
    }
    store.close()
  }

  write(): FindingsWriter {
    this.#progress({ phase: 'write' })
    const writer = new FindingsWriter(this.#input.output, this.#parameters)
    for (const resource of this.#definition.resources) {
      const checked = this.#checked.get(resource)
      if (checked !== undefined) writer.write(checked)
    }
    writer.close()
    return writer
  }

  summarise(writer: FindingsWriter, seconds: number): CheckSummary {
    const { name, version, title, notice } = this.#definition
    const codes = this.#definition.resources.flatMap((resource) => {
      const { counts } = this.#foundIn(resource)
      return resource.checks.flatMap((check, index) => {
        const count = counts[index] ?? 0
        const written = writer.codes.get(check) ?? { stored: 0, students: 0, firstLine: undefined }
        return count === 0 ? [] : [{ ...describeCheck(this.#definition, resource, check), count, ...written }]
      })
    })
    const sum = (severity: string) =>
      codes.reduce((total, code) => total + (code.severity === severity ? code.count : 0), 0)
    return {
      definition: { name, version, title, notice },
      parameters: this.#parameters,
      files: this.#definition.resources.flatMap((resource) => this.#files.get(resource) ?? []),
      codes,
      errors: sum('Error'),
      warnings: sum('Warning'),
      notRun: [...this.#notRun]
        .map(([{ code }, reason]) => ({ code, reason }))
        .sort((one, other) => (one.code < other.code ? -1 : 1)),
      seconds,
    }
  }
}

function explainRuleFailure(error: unknown): string {
  if (error instanceof QueryRefused) return error.message
  const { code = '', message } = error as Error & { code?: string }
  if (!code.startsWith('SQLITE_')) throw error
  if (code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_IOERR'))
    return 'The rule needs more disk space than is allowed.'
  return `SQLite stopped the rule: ${message}.`
}

/** The fields that a record check reads, including those of its condition. */
function listFields(check: RecordCheck): number[] {
  const ofCondition = (check.when ?? []).flatMap((tests) => tests.map(({ field }) => field))
  const ofOperands = (operands: readonly Operand[]) =>
    operands.flatMap((operand) => ('field' in operand ? [operand.field] : []))
  switch (check.kind) {
    case 'order':
    case 'equal':
      return [...ofCondition, ...ofOperands(check.operands)]
    case 'sum':
      return [...ofCondition, check.total, ...check.parts]
    case 'spread':
      return [...ofCondition, check.total, ...check.parts, check.from, check.to]
    default:
      return [...ofCondition, ...check.fields]
  }
}
