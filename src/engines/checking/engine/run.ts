import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { explainReadError } from '../../../foundation/faults/read-error.ts'
import type { Check, Definition, Resource, SqlRule } from '../definition/definition.ts'
import { describeCheck } from '../explain.ts'
import { type Parameters, resolveParameters } from '../parameters.ts'
import { assertQueries } from './assert-queries.ts'
import { Causes } from './causes.ts'
import { checkResource, type RecordIndex } from './check-resource.ts'
import { type CheckUses, listCheckUses } from './check-uses.ts'
import type { FileFault } from './file-fault.ts'
import { describeOtherHeader } from './first-line.ts'
import { Found } from './found.ts'
import { findByteFaults } from './identity.ts'
import type { KeySearch } from './key-evidence.ts'
import { KeySpace, orderResources, toForm } from './keys.ts'
import { compareTexts } from './numbers.ts'
import { NoRoom, type PreparedFile, prepareFile } from './prepare-file.ts'
import { QueryRefused } from './query.ts'
import { openFile } from './read-file.ts'
import { type RecordStep, References } from './references.ts'
import { type Repeats, reportRepeats } from './repeats.ts'
import { compilePositions, selectChecks } from './selection.ts'
import { SqlStore } from './sql-store.ts'
import { type CheckSummary, EMPTY_NOTE, type FileSummary, type NotRun, type SpareFile } from './summary.ts'
import { UndecidedCounts } from './unknown.ts'
import { type CheckedFile, FindingsWriter, readSample } from './write-findings.ts'

/** A file to check. */
export interface InputFile {
  /** Name of its resource. */
  readonly resource: string
  readonly path: string
  /** File name in findings, such as `enrolments.csv`; its extension determines the format. */
  readonly name: string
  /** What is known to be wrong with it before it is read. */
  readonly faults?: readonly FileFault[]
}

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

class Run {
  readonly #definition: Definition
  readonly #parameters: Parameters
  readonly #input: EngineInput
  readonly #uses: CheckUses
  readonly #progress: (progress: EngineProgress) => void
  readonly #positions: ReadonlyMap<Resource, (check: Check | undefined) => number>
  readonly #found: ReadonlyMap<Resource, Found>
  readonly #opened = new Map<Resource, Opened>()
  readonly #checked = new Map<Resource, CheckedFile>()
  readonly #files = new Map<Resource, FileSummary>()
  /** Why a file has no records, for the rules that need it. */
  readonly #absent = new Map<string, string>()
  readonly #missingFields = new Map<string, ReadonlySet<number>>()
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
    const { resources } = definition
    this.#uses = listCheckUses(definition)
    this.#causes = new Causes({
      definition,
      uses: this.#uses,
      returnYear: parameters.returnYear,
      nameOf: (resource) => this.#checked.get(resource)?.name ?? resource.path,
      recordsOf: (name) => this.#countRecords(name, (index) => index.count - index.noRecords),
      valuesOf: ({ name }, field) =>
        this.#countRecords(
          name,
          ({ count, noRecords, broken, empty }) => count - noRecords - broken - (empty[field] ?? 0),
        ),
      sampleOf: (resource) => {
        const checked = this.#checked.get(resource)
        return checked === undefined ? [] : readSample(checked, SAMPLED)
      },
      describeGroup: (resource, group) =>
        this.#checked.get(resource)?.records?.file.columns.groups.get(group),
      scan: (resource, visit) => this.#scan(resource, visit),
      findKeys: (resource, searches) => this.#findKeys(resource, searches),
    })
    this.#positions = new Map(resources.map((each) => [each, compilePositions(each, selection)]))
    this.#found = new Map(resources.map((each) => [each, new Found(each.checks.length, input.cap)]))
  }

  /** What a file has, by the index of its records; 0 if it was not read. */
  #countRecords(name: string, read: (index: RecordIndex) => number): number {
    const resource = this.#definition.resources.find((each) => each.name === name)
    const index = resource && this.#checked.get(resource)?.records?.index
    return index === undefined ? 0 : read(index)
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
    if (!this.#notRun.has(check)) this.#notRun.set(check, { reason })
  }

  #stop(check: Check, reason: string): void {
    const blocks = check.severity === 'Error' || check.needsExplanation
    this.#notRun.set(check, { reason, ...(blocks && { blocks }) })
  }

  /** Examines every file before any record is read. */
  async prepare(): Promise<void> {
    const room = { left: this.#input.diskBytes }
    for (const resource of this.#definition.resources) {
      const input = this.#input.files.find((each) => each.resource === resource.name)
      if (input === undefined) {
        this.#reportAbsent(resource)
        continue
      }
      const name = `${resource.table}.utf8`
      try {
        const prepared = await prepareFile(input.path, {
          folder: this.#input.folder,
          name,
          room,
          resource,
        })
        const differences = await findByteFaults(resource, { ...prepared, ...input })
        this.#opened.set(resource, {
          input,
          prepared: { ...prepared, faults: [...(input.faults ?? []), ...prepared.faults, ...differences] },
        })
      } catch (error) {
        if (!(error instanceof NoRoom)) throw explainReadError(error, input.path)
        const fault = { message: 'Unpacking or converting the file needs more disk space than is allowed.' }
        this.#unreadable(resource, input, fault, { bytes: 0, sha256: undefined, encoding: undefined })
      }
    }
  }

  #reportAbsent(resource: Resource): void {
    const { name, path, fileType, fileCheck } = resource
    const missing = `The file ${path} is missing.`
    this.#absent.set(name, missing)
    this.#files.set(resource, {
      resource: name,
      fileType,
      file: path,
      state: 'missing',
      bytes: 0,
      records: 0,
      sha256: undefined,
      encoding: undefined,
      notes: [],
    })
    if (this.#input.complete && !isOptional(resource, this.#parameters))
      this.#addFileFindings(resource, path, fileCheck, [{ message: missing, fix: 'Add the file.' }])
  }

  #addFileFindings(resource: Resource, name: string, check: Check, faults: readonly FileFault[]): void {
    const position = this.#position(resource, check)
    const known = this.#checked.get(resource)
    const fileFaults = new Map(known?.fileFaults ?? [])
    fileFaults.set(check, [...(fileFaults.get(check) ?? []), ...faults])
    const found = this.#foundIn(resource)
    if (position !== -1) for (const _ of faults) found.add(position, 0)
    this.#checked.set(resource, { resource, found, name, fileFaults, records: known?.records })
  }

  #unreadable(
    resource: Resource,
    { name }: InputFile,
    fault: FileFault,
    facts: Pick<FileSummary, 'bytes' | 'sha256' | 'encoding'>,
  ): void {
    this.#absent.set(resource.name, `The file ${name} cannot be read.`)
    this.#addFileFindings(resource, name, resource.fileCheck, [fault])
    this.#files.set(resource, {
      resource: resource.name,
      fileType: resource.fileType,
      file: name,
      state: 'unreadable',
      ...facts,
      records: 0,
      notes: [],
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
        this.#unreadable(resource, input, prepared.faults[0] ?? { message: '' }, facts)
        continue
      }
      const file = openFile(prepared, input.name, resource, this.#input.chunk)
      const isTable = file.format.kind === 'csv' && file.headerOffset !== undefined
      const other = isTable
        ? describeOtherHeader(file.columns.header, resource, this.#definition.resources)
        : undefined
      const fault = other ?? file.fault
      if (fault !== undefined) {
        file.close()
        this.#unreadable(resource, input, fault, facts)
        continue
      }
      files.set(resource, file)
      this.#missingFields.set(resource.name, file.columns.missing)
      if (prepared.faults.length > 0)
        this.#addFileFindings(resource, input.name, resource.fileCheck, prepared.faults)
      this.#addFileFindings(resource, input.name, resource.headerCheck, file.columns.faults)
    }
    this.#skipRecordChecks()
    this.#openStore()
    const references = new References(this.#definition, new KeySpace(this.#definition), {
      position: (check) => this.#positionOf(check),
      found: (resource) => this.#foundIn(resource),
      obstacle: (check) => this.#obstacle(check),
      skip: this.#skip,
      undecided: this.#undecided,
    })
    for (const resource of order) {
      const file = files.get(resource)
      const steps = references.start(resource)
      if (file !== undefined) this.#checkFile(resource, file, steps, () => references.repeatsOf(resource))
      references.end(resource)
    }
    references.finish()
  }

  #positionOf(check: Check): number {
    const resource = this.#definition.resources.find((each) => each.checks.includes(check))
    return resource === undefined ? -1 : this.#position(resource, check)
  }

  #checkFile(
    resource: Resource,
    file: ReturnType<typeof openFile>,
    steps: readonly RecordStep[],
    repeats: () => readonly Repeats[],
  ): void {
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
      isInForce: (check) => check !== undefined && this.#isInForce(check),
      undecided: this.#undecided,
      steps,
      store: table?.add,
      onRecords: (records) => this.#progress({ phase: 'read', file: input.name, records }),
    })
    table?.end()
    file.close()
    reportRepeats(repeats(), {
      resource,
      found: this.#foundIn(resource),
      isInForce: (check) => check !== undefined && this.#isInForce(check),
      parameters: this.#parameters,
      lineOf: (record) => index.lineOf(record),
      open: () => openFile(prepared, input.name, resource, this.#input.chunk),
    })
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
      notes: [...prepared.notes, ...file.columns.notes, ...(index.count === 0 ? [EMPTY_NOTE] : [])],
    })
  }

  /** The reason why a check cannot run, if any: a file or a column that it reads is missing. */
  #obstacle(check: Check): string | undefined {
    for (const { resource, fields } of this.#uses.get(check) ?? []) {
      const absent = this.#absent.get(resource.name)
      if (absent !== undefined) return absent
      const missing = this.#missingFields.get(resource.name)
      const field = fields.find((each) => missing?.has(each))
      if (field !== undefined)
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
            : this.#obstacle(each.check)
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
    this.#store = new SqlStore(
      this.#definition,
      this.#uses,
      rules,
      path,
      this.#input.diskBytes,
      this.#undecided,
    )
  }

  #isRunnable(resource: Resource, rule: SqlRule): boolean {
    if (this.#position(resource, rule.check) === -1) return false
    const obstacle = this.#obstacle(rule.check)
    const stopped = this.#input.skip[rule.check.code]
    if (obstacle !== undefined) this.#skip(rule.check, obstacle)
    else if (stopped !== undefined) this.#stop(rule.check, stopped)
    return obstacle === undefined && stopped === undefined
  }

  /** Loads a file for the SQL rules. If the disk is full, only these rules do not run. */
  #loadTable(resource: Resource): ReturnType<SqlStore['load']> {
    const table = this.#try(() => this.#store?.load(resource))
    if (table === undefined) return undefined
    return {
      add: (record, values, unknown) => {
        if (this.#storeFault !== undefined) return
        try {
          table.add(record, values, unknown)
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
    if (!/^SQLITE_(?:FULL|IOERR)/.test((error as { code?: string }).code ?? '')) throw error
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
    const files = this.#definition.resources.flatMap((resource) => this.#checked.get(resource) ?? [])
    for (const checked of files) writer.visit(checked, (finding) => this.#causes.count(finding))
    this.#causes.choose()
    for (const checked of files) writer.visit(checked, (finding) => this.#causes.relate(finding))
    for (const checked of files) writer.write(checked, this.#causes)
    writer.close()
    return writer
  }

  /** Reads the records of a file again. */
  #scan(resource: Resource, visit: (cell: (field: number) => string) => void): void {
    const opened = this.#opened.get(resource)
    if (opened === undefined || this.#files.get(resource)?.state !== 'checked') return
    const { input, prepared } = opened
    const file = openFile(prepared, input.name, resource, this.#input.chunk)
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

  #countOf(check: Check): number {
    const resource = this.#definition.resources.find((each) => each.checks.includes(check))
    if (resource === undefined) return 0
    return this.#foundIn(resource).counts[resource.checks.indexOf(check)] ?? 0
  }

  summarise(writer: FindingsWriter, seconds: number): CheckSummary {
    const { name, version, title, notice } = this.#definition
    const codes = this.#definition.resources.flatMap((resource) => {
      const { counts } = this.#foundIn(resource)
      return resource.checks.flatMap((check, index) => {
        const count = counts[index] ?? 0
        if (count === 0) return []
        const described = describeCheck(resource, check)
        // What is wrong with a whole file is said once, so that its own words are the summary.
        const [own, ...others] = this.#checked.get(resource)?.fileFaults.get(check) ?? []
        const message = own === undefined || others.length > 0 ? described.message : own.message
        return [{ ...described, message, count, ...writer.written(check) }]
      })
    })
    const sum = (severity: string) =>
      codes.reduce((total, code) => total + (code.severity === severity ? code.count : 0), 0)
    return {
      definition: { name, version, title, notice },
      parameters: this.#parameters,
      files: this.#definition.resources.flatMap((resource) => this.#files.get(resource) ?? []),
      codes,
      unread: this.#input.unread ?? [],
      spare: this.#input.spare ?? [],
      causes: this.#causes.list((check) => this.#countOf(check)),
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
