import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { explainReadError } from '../../../foundation/faults/read-error.ts'
import type { Check, Definition, Resource, SqlRule } from '../definition/definition.ts'
import { compareTexts } from '../definition/numbers.ts'
import { type Parameters, resolveParameters } from '../definition/parameters.ts'
import type { Limits } from '../process/limits.ts'
import { assertQueries } from './assert-queries.ts'
import { Causes } from './causes.ts'
import { checkRecords } from './check-records.ts'
import { describeCheck } from './explain.ts'
import type { FileFault } from './file-fault.ts'
import { type FileOf, FileState } from './file-state.ts'
import { describeOtherHeader } from './first-line.ts'
import { findByteFaults } from './identity.ts'
import { orderResources } from './keys.ts'
import { Plan } from './plan.ts'
import { NoRoom, prepareFile } from './prepare-file.ts'
import { QueryRefused } from './query.ts'
import { openFile } from './read-file.ts'
import { type RecordStep, References } from './references.ts'
import type { CheckRequest, InputFile } from './request.ts'
import { selectChecks } from './selection.ts'
import { SqlStore } from './sql-store.ts'
import type { CheckSummary } from './summary.ts'
import { FindingsWriter } from './write-findings.ts'

export interface EngineInput
  extends Omit<CheckRequest, 'files'>,
    Pick<Limits, 'findingsOfCode' | 'findingsBytes' | 'diskBytes'> {
  readonly files: readonly InputFile[]
  /** Rules that must not run, with the reason. */
  readonly skip: Readonly<Record<string, string>>
  /** Folder for temporary files. */
  readonly folder: string
  /** Where the findings are written, as NDJSON. */
  readonly output: string
}

/** The current step of the engine. */
export type EngineProgress =
  | { readonly phase: 'read'; readonly file: string; readonly records: number }
  | { readonly phase: 'rule'; readonly code: string }
  | { readonly phase: 'write' }

/**
 * Checks files against a definition and writes the findings. It runs in a separate process, because it blocks and a
 * rule may never end. Everything except `seconds` depends only on the input.
 */
export async function runEngine(
  input: EngineInput,
  onProgress: (progress: EngineProgress) => void,
): Promise<CheckSummary> {
  const started = performance.now()
  const { definition } = input
  const parameters = resolveParameters(definition, input)
  mkdirSync(input.folder, { recursive: true })
  const isSelected = selectChecks(parameters, input.only ?? [])
  assertQueries(definition, (check) => check.status === 'active' || isSelected(check))
  const run = new Run(input, parameters, onProgress)
  await run.prepare()
  run.check()
  run.runRules()
  const writer = run.write()
  return run.summarise(writer, Math.round(performance.now() - started) / 1000)
}

/** The work of a check, in its order. */
class Run {
  readonly #definition: Definition
  readonly #parameters: Parameters
  readonly #input: EngineInput
  readonly #progress: (progress: EngineProgress) => void
  readonly #files: readonly FileState[]
  readonly #fileOf: FileOf
  readonly #plan: Plan
  readonly #causes: Causes
  #store: SqlStore | undefined
  #storeFault: string | undefined

  constructor(input: EngineInput, parameters: Parameters, progress: (progress: EngineProgress) => void) {
    this.#input = input
    this.#parameters = parameters
    this.#progress = progress
    const { definition, findingsOfCode, only = [] } = input
    this.#definition = definition
    this.#files = definition.resources.map((resource) => new FileState(resource, findingsOfCode))
    this.#fileOf = (name) => {
      const file = this.#files.find(({ resource }) => resource.name === name)
      if (file === undefined) throw new Error(`the definition has no resource ${name}`)
      return file
    }
    this.#plan = new Plan(definition, parameters, only, this.#fileOf)
    this.#causes = new Causes(definition, this.#plan.uses, parameters.returnYear, this.#fileOf)
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
    file.addFaults(check, this.#plan.position(check), faults)
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
    const references = new References(this.#definition, this.#plan, this.#fileOf)
    for (const resource of orderResources(this.#definition)) {
      this.#checkFile(this.#fileOf(resource.name), references.start(resource))
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
    const open = openFile(prepared, file.name, resource)
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
    const { resource, name, open, prepared } = file
    if (open === undefined || prepared === undefined) return
    const table = this.#forRules(() => this.#store?.load(resource))
    const index = checkRecords(file, open, {
      plan: this.#plan,
      parameters: this.#parameters,
      steps,
      store: table && ((record, values, unknown) => this.#forRules(() => table.add(record, values, unknown))),
      onRecords: (records) => this.#progress({ phase: 'read', file: name, records }),
    })
    this.#forRules(() => table?.end())
    open.close()
    this.#addFaults(file, resource.headerCheck, open.lateFaults())
    file.records = { path: prepared.path, file: open, index }
  }

  #skipRecordChecks(): void {
    for (const { kind, check } of this.#definition.resources.flatMap((each) => each.recordChecks)) {
      if (kind === 'referenced' || this.#plan.position(check) === -1) continue
      if (kind === 'spread' && this.#parameters.returnYear === null)
        this.#plan.skip(check, 'The return has no year.')
      else this.#plan.admit(check)
    }
  }

  #openStore(): void {
    const rules = this.#definition.resources.flatMap((resource) =>
      resource.rules.filter((rule) => this.#isRunnable(rule)),
    )
    if (rules.length === 0) return
    const path = join(this.#input.folder, 'rules.db')
    this.#store = new SqlStore(this.#definition, this.#plan, rules, path, this.#input.diskBytes)
  }

  #isRunnable({ check }: SqlRule): boolean {
    if (this.#plan.admit(check) === -1) return false
    const stopped = this.#input.skip[check.code]
    if (stopped !== undefined) this.#plan.stop(check, stopped)
    return stopped === undefined
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
        const position = this.#plan.position(rule.check)
        if (position === -1) continue
        if (this.#storeFault !== undefined) {
          this.#plan.stop(rule.check, this.#storeFault)
          continue
        }
        this.#progress({ phase: 'rule', code: rule.check.code })
        try {
          store.run(rule, this.#parameters, (record, extras) => found.add(position, record, extras))
        } catch (error) {
          this.#plan.stop(rule.check, explainRuleFailure(error))
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

  summarise(writer: FindingsWriter, seconds: number): CheckSummary {
    const { name, version, title, notice } = this.#definition
    const counts = new Map<Check, number>()
    const codes = this.#files.flatMap((file) => {
      const { resource } = file
      return resource.checks.flatMap((check, position) => {
        const count = file.found.counts[position] ?? 0
        counts.set(check, count)
        if (count === 0) return []
        const described = describeCheck(resource, check)
        const summary = { ...described, count, ...writer.written(check) }
        // What is wrong with a whole file is said once, so that its own words are the summary.
        const [own, ...others] = file.fileFaults.get(check) ?? []
        if (own === undefined || others.length > 0) return [summary]
        const { fix: _, ...rest } = summary
        const { message, fix } = own
        return [{ ...rest, message, ...(fix !== undefined && { fix }) }]
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
      causes: this.#causes.list((check) => counts.get(check) ?? 0),
      errors: sum('Error'),
      warnings: sum('Warning'),
      notRun: [...this.#plan.notRun]
        .map(([{ code }, why]) => ({ code, ...why }))
        .sort((one, other) => (one.code < other.code ? -1 : 1)),
      undecided: [...this.#plan.undecided.list()]
        .map(({ check, resource: file, field, records }) => {
          return {
            code: check.code,
            file,
            field: this.#fileOf(file).resource.fields[field]?.name ?? '',
            records,
          }
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
