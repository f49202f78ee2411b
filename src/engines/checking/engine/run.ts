import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { explainReadError } from '../../../foundation/faults/read-error.ts'
import type { Check, Definition, Resource, SqlRule } from '../definition/definition.ts'
import { describeCheck } from '../explain.ts'
import { type Parameters, resolveParameters } from '../parameters.ts'
import { assertQueries } from './assert-queries.ts'
import { Causes } from './causes.ts'
import { checkResource } from './check-resource.ts'
import { type CheckUses, listCheckUses } from './check-uses.ts'
import type { FileFault } from './file-fault.ts'
import { FileState, type InputFile } from './file-state.ts'
import { describeOtherHeader } from './first-line.ts'
import { findByteFaults } from './identity.ts'
import type { KeySearch } from './key-evidence.ts'
import { KeySpace, orderResources, toForm } from './keys.ts'
import { compareTexts } from './numbers.ts'
import { NoRoom, prepareFile } from './prepare-file.ts'
import { QueryRefused } from './query.ts'
import { openFile } from './read-file.ts'
import { type RecordStep, References } from './references.ts'
import { selectChecks } from './selection.ts'
import { SqlStore } from './sql-store.ts'
import type { CheckSummary, NotRun, SpareFile } from './summary.ts'
import { UndecidedCounts } from './unknown.ts'
import { FindingsWriter, readSample } from './write-findings.ts'

export interface EngineInput {
  /** The definition, or its folder. */
  readonly definition: Definition | string
  readonly files: readonly InputFile[]
  /** Whether an absent file is a finding; otherwise only the given files are checked. */
  readonly complete: boolean
  /** Files that were there, but are not in the definition. */
  readonly unread?: readonly string[]
  readonly spare?: readonly SpareFile[]
  readonly returnId?: string | undefined
  readonly asOf?: string | undefined
  readonly only: readonly string[]
  /** The maximum number of findings written for each code. */
  readonly cap: number
  /** The maximum size of all written findings, in bytes, divided fairly among the codes. */
  readonly findingsBytes: number
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

/** Records whose values say how frequent a value is in a file. */
const SAMPLED = 200

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
  const selection = selectChecks(parameters, input.only)
  assertQueries(definition, (check) => check.status === 'active' || selection.isActive(check))
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

/** The work of a check, in its order. */
class Run {
  readonly #definition: Definition
  readonly #parameters: Parameters
  readonly #input: EngineInput
  readonly #uses: CheckUses
  readonly #progress: (progress: EngineProgress) => void
  readonly #files: readonly FileState[]
  /** The file of each check, and its position there if it runs. */
  readonly #owners = new Map<Check, { readonly file: FileState; readonly position: number }>()
  readonly #notRun = new Map<Check, Omit<NotRun, 'code'>>()
  readonly #undecided = new UndecidedCounts()
  readonly #causes: Causes
  readonly #isInForce: (check: Check) => boolean
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
    const inForce = selectChecks(parameters, [])
    // The codes that --only names may be drafts.
    this.#isInForce = (check) => inForce.isActive(check) || selection.isActive(check)
    this.#uses = listCheckUses(definition)
    this.#files = definition.resources.map((resource) => new FileState(resource, input.cap))
    for (const file of this.#files)
      for (const [position, check] of file.resource.checks.entries())
        this.#owners.set(check, { file, position: selection.isActive(check) ? position : -1 })
    this.#causes = new Causes({
      definition,
      uses: this.#uses,
      returnYear: parameters.returnYear,
      nameOf: (resource) => this.#fileOf(resource).name,
      recordsOf: (name) => this.#files.find(({ resource }) => resource.name === name)?.count ?? 0,
      valuesOf: (resource, field) => this.#fileOf(resource).countValues(field),
      sampleOf: (resource) => readSample(this.#fileOf(resource), SAMPLED),
      describeGroup: (resource, group) => this.#fileOf(resource).records?.file.columns.groups.get(group),
      scan: (resource, visit) => this.#scan(resource, visit),
      findKeys: (resource, searches) => this.#findKeys(resource, searches),
    })
  }

  #fileOf(resource: Resource): FileState {
    const file = this.#files.find((each) => each.resource === resource)
    if (file === undefined) throw new Error(`the definition has no resource ${resource.name}`)
    return file
  }

  #position = (check: Check | undefined): number =>
    check === undefined || this.#notRun.has(check) ? -1 : (this.#owners.get(check)?.position ?? -1)

  #skip = (check: Check, reason: string): void => {
    if (!this.#notRun.has(check)) this.#notRun.set(check, { reason })
  }

  #stop(check: Check, reason: string): void {
    const blocks = check.severity === 'Error' || check.needsExplanation
    this.#notRun.set(check, { reason, ...(blocks && { blocks }) })
  }

  /** Examines every file before any record is read. */
  async prepare(): Promise<void> {
    const { folder, files } = this.#input
    const room = { left: this.#input.diskBytes }
    for (const file of this.#files) {
      const { resource } = file
      file.input = files.find((each) => each.resource === resource.name)
      if (file.input === undefined) {
        this.#reportAbsent(file)
        continue
      }
      const { path, faults = [] } = file.input
      try {
        const prepared = await prepareFile(path, { folder, name: `${resource.table}.utf8`, room, resource })
        const differences = await findByteFaults(resource, { ...prepared, ...file.input })
        file.prepared = { ...prepared, faults: [...faults, ...prepared.faults, ...differences] }
      } catch (error) {
        if (!(error instanceof NoRoom)) throw explainReadError(error, path)
        this.#refuse(file, {
          message: 'Unpacking or converting the file needs more disk space than is allowed.',
        })
      }
    }
  }

  #reportAbsent(file: FileState): void {
    const { resource } = file
    const missing = `The file ${resource.path} is missing.`
    file.absence = missing
    if (this.#input.complete && !isOptional(resource, this.#parameters))
      this.#addFaults(file, resource.fileCheck, [{ message: missing, fix: 'Add the file.' }])
  }

  #addFaults(file: FileState, check: Check, faults: readonly FileFault[]): void {
    file.addFaults(check, this.#position(check), faults)
  }

  /** Reports that the records of a file cannot be read. */
  #refuse(file: FileState, fault: FileFault): void {
    file.absence = `The file ${file.name} cannot be read.`
    this.#addFaults(file, file.resource.fileCheck, [fault])
  }

  /** Reads every file once and runs all checks except the SQL rules. */
  check(): void {
    for (const file of this.#files) this.#openFile(file)
    this.#skipRecordChecks()
    this.#openStore()
    const references = new References(this.#definition, new KeySpace(this.#definition), {
      position: this.#position,
      found: (resource) => this.#fileOf(resource).found,
      obstacle: (check) => this.#obstacle(check),
      skip: this.#skip,
      undecided: this.#undecided,
    })
    for (const resource of orderResources(this.#definition)) {
      this.#checkFile(this.#fileOf(resource), references.start(resource))
      references.end(resource)
    }
    references.finish()
  }

  /** Opens a file and reads its header. */
  #openFile(file: FileState): void {
    const { resource, prepared, absence } = file
    if (prepared === undefined || absence !== undefined) return
    if (!prepared.readable) {
      this.#refuse(file, prepared.faults[0] ?? { message: '' })
      return
    }
    const open = openFile(prepared, file.name, resource, this.#input.chunk)
    const isTable = open.format.kind === 'csv' && open.headerOffset !== undefined
    const other = isTable
      ? describeOtherHeader(open.columns.header, resource, this.#definition.resources)
      : undefined
    const fault = other ?? open.fault
    if (fault !== undefined) {
      open.close()
      this.#refuse(file, fault)
      return
    }
    file.open = open
    if (prepared.faults.length > 0) this.#addFaults(file, resource.fileCheck, prepared.faults)
    this.#addFaults(file, resource.headerCheck, open.columns.faults)
  }

  #checkFile(file: FileState, steps: readonly RecordStep[]): void {
    const { resource, found, name, open, prepared } = file
    if (open === undefined || prepared === undefined) return
    const table = this.#forRules(() => this.#store?.load(resource))
    const index = checkResource({
      resource,
      file: open,
      found,
      parameters: this.#parameters,
      position: this.#position,
      isInForce: (check) => check !== undefined && this.#isInForce(check),
      undecided: this.#undecided,
      steps,
      store: table && ((record, values, unknown) => this.#forRules(() => table.add(record, values, unknown))),
      onRecords: (records) => this.#progress({ phase: 'read', file: name, records }),
    })
    this.#forRules(() => table?.end())
    open.close()
    this.#addFaults(file, resource.headerCheck, open.lateFaults())
    file.records = { path: prepared.path, file: open, index }
  }

  /** The reason why a check cannot run, if any: a file or a column that it reads is missing. */
  #obstacle(check: Check): string | undefined {
    for (const { resource, fields } of this.#uses.get(check) ?? []) {
      const { absence, open } = this.#fileOf(resource)
      if (absence !== undefined) return absence
      const field = fields.find((each) => open?.columns.missing.has(each))
      if (field !== undefined)
        return `The file ${resource.path} has no column ${resource.fields[field]?.name}.`
    }
    return undefined
  }

  #skipRecordChecks(): void {
    for (const resource of this.#definition.resources) {
      for (const each of resource.recordChecks) {
        if (each.kind === 'referenced' || this.#position(each.check) === -1) continue
        const reason =
          each.kind === 'spread' && this.#parameters.returnYear === null
            ? 'The return has no year.'
            : this.#obstacle(each.check)
        if (reason !== undefined) this.#skip(each.check, reason)
      }
    }
  }

  #openStore(): void {
    const rules = this.#definition.resources.flatMap((resource) =>
      resource.rules.filter((rule) => this.#isRunnable(rule)),
    )
    if (rules.length === 0) return
    const path = join(this.#input.folder, 'rules.db')
    this.#store = new SqlStore(
      this.#definition,
      this.#uses,
      rules,
      path,
      this.#input.diskBytes,
      this.#undecided,
    )
  }

  #isRunnable(rule: SqlRule): boolean {
    if (this.#position(rule.check) === -1) return false
    const obstacle = this.#obstacle(rule.check)
    const stopped = this.#input.skip[rule.check.code]
    if (obstacle !== undefined) this.#skip(rule.check, obstacle)
    else if (stopped !== undefined) this.#stop(rule.check, stopped)
    return obstacle === undefined && stopped === undefined
  }

  /** Does work for the SQL rules. If the disk is full, only these rules do not run. */
  #forRules<T>(work: () => T): T | undefined {
    if (this.#storeFault !== undefined) return undefined
    try {
      return work()
    } catch (error) {
      if (!/^SQLITE_(?:FULL|IOERR)/.test((error as { code?: string }).code ?? '')) throw error
      this.#storeFault = 'The rules need more disk space than is allowed.'
      return undefined
    }
  }

  /** Runs the SQL rules one after another. */
  runRules(): void {
    const store = this.#store
    if (store === undefined) return
    this.#forRules(() => store.finish())
    for (const { resource, found } of this.#files) {
      for (const rule of resource.rules) {
        const position = this.#position(rule.check)
        if (position === -1) continue
        if (this.#storeFault !== undefined) {
          this.#stop(rule.check, this.#storeFault)
          continue
        }
        this.#progress({ phase: 'rule', code: rule.check.code })
        try {
          store.run(rule, this.#parameters, (record, extras) => found.add(position, record, extras))
        } catch (error) {
          this.#stop(rule.check, explainRuleFailure(error))
        }
      }
    }
    store.close()
  }

  write(): FindingsWriter {
    this.#progress({ phase: 'write' })
    const writer = new FindingsWriter(this.#input.output, this.#parameters, this.#input.findingsBytes)
    for (const file of this.#files) writer.visit(file, (finding) => this.#causes.count(finding))
    this.#causes.choose()
    for (const file of this.#files) writer.visit(file, (finding) => this.#causes.relate(finding))
    for (const file of this.#files) writer.write(file, this.#causes)
    writer.close()
    return writer
  }

  /** Reads the records of a file again. */
  #scan(resource: Resource, visit: (cell: (field: number) => string) => void): void {
    const { prepared, records, name } = this.#fileOf(resource)
    if (prepared === undefined || records === undefined) return
    const file = openFile(prepared, name, resource, this.#input.chunk)
    const { reader, columns } = file
    const cell = (field: number) => reader.cells[columns.positions[field] ?? -1] ?? ''
    // What cannot be read says nothing.
    while (reader.next()) if (reader.fault === undefined && reader.count === columns.width) visit(cell)
    file.close()
  }

  /** Finds keys of a file by their forms: the file is read again, once. */
  #findKeys(resource: Resource, searches: readonly KeySearch[]): void {
    this.#scan(resource, (cell) => {
      for (const { fields, forms, found } of searches) {
        const key = fields.map((field) => cell(field).trim())
        const form = toForm(key)
        if (forms.has(form)) found.set(form, key)
      }
    })
  }

  summarise(writer: FindingsWriter, seconds: number): CheckSummary {
    const { name, version, title, notice } = this.#definition
    const codes = this.#files.flatMap((file) => {
      const { resource } = file
      return resource.checks.flatMap((check) => {
        const count = file.countFound(check)
        if (count === 0) return []
        const described = describeCheck(resource, check)
        // What is wrong with a whole file is said once, so that its own words are the summary.
        const [own, ...others] = file.fileFaults.get(check) ?? []
        const message = own === undefined || others.length > 0 ? described.message : own.message
        return [{ ...described, message, count, ...writer.written(check) }]
      })
    })
    const sum = (severity: string) =>
      codes.reduce((total, code) => total + (code.severity === severity ? code.count : 0), 0)
    return {
      definition: { name, version, title, notice },
      parameters: this.#parameters,
      files: this.#files.map((file) => file.summarise()),
      codes,
      unread: this.#input.unread ?? [],
      spare: this.#input.spare ?? [],
      causes: this.#causes.list((check) => this.#owners.get(check)?.file.countFound(check) ?? 0),
      errors: sum('Error'),
      warnings: sum('Warning'),
      notRun: [...this.#notRun]
        .map(([{ code }, why]) => ({ code, ...why }))
        .sort((one, other) => (one.code < other.code ? -1 : 1)),
      undecided: [...this.#undecided.list()]
        .map(({ check, resource: name, field, records }) => {
          const resource = this.#definition.resources.find((each) => each.name === name)
          return { code: check.code, file: name, field: resource?.fields[field]?.name ?? '', records }
        })
        .sort((one, other) => compareTexts(one.code, other.code) || other.records - one.records),
      seconds,
    }
  }
}

function isOptional({ optional }: Resource, { returnId }: Parameters): boolean {
  return typeof optional === 'boolean' ? optional : optional.test(returnId ?? '')
}

function explainRuleFailure(error: unknown): string {
  if (error instanceof QueryRefused) return error.message
  const { code = '', message } = error as Error & { code?: string }
  if (!code.startsWith('SQLITE_')) throw error
  if (code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_IOERR'))
    return 'The rule needs more disk space than is allowed.'
  return `SQLite stopped the rule: ${message}.`
}
