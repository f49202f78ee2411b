import { hash } from 'node:crypto'
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { getOrMake } from '../../../foundation/get-or-make.ts'
import { DistinctTexts } from '../../../foundation/text/interner.ts'
import { FileSource, LineReader, type RecordFault } from '../../records/index.ts'
import type { Check } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'
import type { Causes } from './causes.ts'
import type { FileFault } from './file-fault.ts'
import type { FileState } from './file-state.ts'
import { FindingShares } from './finding-shares.ts'
import { compileMessage, type MessageWriter } from './messages.ts'
import type { RecordView } from './record-view.ts'
import type { SeenFinding } from './seen-finding.ts'
import { cut, toShown } from './shown-text.ts'
import type { Finding } from './summary.ts'

/** What is counted of a code while its findings are written. */
export interface WrittenCode {
  stored: number
  students: number
  firstLine: number | undefined
}

/** Of more such records than are remembered. */
const UNREADABLE: RecordFault = { code: 'unreadable', message: 'The record cannot be read.' }

const NOTHING: WrittenCode = { stored: 0, students: 0, firstLine: undefined }

/** Longest value that a finding repeats. */
const MOST_VALUE = 1000
/** The most characters of a record's text: a page has a thousand of them in memory. */
const MOST_TEXT = 4096
/** The most bytes of a finding, whose texts all have a longest form. */
const MOST_LINE = 2 ** 20

/**
 * Writes findings as NDJSON, in the order file, record, check. A record with findings is read again at its offset, so
 * nothing of the others was kept.
 */
export class FindingsWriter {
  #file: number
  readonly #path: string
  readonly #parameters: Parameters
  readonly #shares: FindingShares
  readonly #codes = new Map<string, WrittenCode & { number: number }>()
  readonly #texts: string[] = []
  #size = 0
  #students = new DistinctTexts()

  /** @param most the bytes that the findings of all files may take */
  constructor(path: string, parameters: Parameters, most: number) {
    this.#path = path
    this.#file = openSync(path, 'w', 0o600)
    this.#parameters = parameters
    this.#shares = new FindingShares(most)
  }

  written({ code }: Check): Readonly<WrittenCode> {
    const { stored, students, firstLine } = this.#codes.get(code) ?? NOTHING
    return { stored, students, firstLine }
  }

  /** @throws if the disk is full; the file is then not complete */
  write(checked: FileState, causes: Causes): void {
    checked.read((view) => {
      for (const finding of this.#open(checked, view, true)) {
        const cause = causes.assign(finding)
        if (this.#shares.hasRoom(finding.check.code)) this.#append(finding, view, cause)
      }
    })
  }

  /** Passes each finding of a record that can be read, without its message. */
  visit(checked: FileState, handle: (finding: SeenFinding) => void): void {
    checked.read((view) => {
      for (const finding of this.#open(checked, view, false)) handle(finding)
    })
  }

  close(): void {
    this.#flush()
    closeSync(this.#file)
    if (this.#shares.exceeded) this.#trim()
  }

  /** The findings in their order, each with its record; either all of them, or those that `visit` passes. */
  *#open(checked: FileState, view: RecordView, isWhole: boolean): Generator<SeenFinding> {
    const { resource, name, found, records } = checked
    const messages: (MessageWriter | undefined)[] = []
    const fileFaults = new Map([...checked.fileFaults].map(([check, list]) => [check, list.values()]))
    const cell = (field: number) => view.cell(field)
    for (const { record, check: position, extras } of found.sorted()) {
      const check = resource.checks[position]
      const isOfRecord = record > 0 && check !== resource.recordCheck
      if (check === undefined || !(isWhole || isOfRecord)) continue
      view.move(record)
      let field = check.fields[0]
      let fault: FileFault | RecordFault | undefined
      let message = ''
      if (!isOfRecord) {
        const ofFile = fileFaults.get(check)?.next().value
        fault = ofFile ?? records?.index.faults.get(record) ?? UNREADABLE
        message = fault.message
        field = ofFile?.field
      } else if (isWhole) {
        messages[position] ??= compileMessage(check, resource, this.#parameters)
        const earlier = extras?.earlierRecord
        const known =
          earlier === undefined ? extras : { earlierLine: String(records?.index.lines.get(Number(earlier))) }
        message = (messages[position] as MessageWriter)(cell, known)
      }
      const { line, studentId } = view
      yield { resource, name, check, record, line, field, message, fault, studentId, cell }
    }
  }

  #append(
    { resource, name, check, record, message, field }: SeenFinding,
    view: RecordView,
    cause: string,
  ): void {
    const cell = record === 0 ? '' : view.cellOf(field)
    const value = cut(cell, MOST_VALUE)
    const keyed = `${check.code}\n${view.key}\n${field ?? ''}\n${record === 0 ? message : cell}`
    const { localId, courseCode, studentId } = view
    const line =
      `${localId === '' ? '{' : `{"localId":${json(localId)},`}"errorCode":"${check.code}"` +
      `,"errorDescription":${json(message)},"errorType":"${check.severity}","fileType":"${resource.fileType}"` +
      (courseCode === '' ? '' : `,"courseCode":${json(courseCode)}`) +
      (studentId === '' ? '' : `,"studentId":${json(studentId)}`) +
      (view.text === '' ? '' : `,"recordText":${json(cut(view.text, MOST_TEXT))}`) +
      `,"file":${json(name)},"line":${view.line}` +
      (field === undefined ? '' : `,"field":${json(field)}`) +
      (value === '' ? '' : `,"value":${json(value)}`) +
      `,"findingKey":"${hash('sha256', keyed, 'base64url').slice(0, 22)}","cause":${JSON.stringify(cause)}}\n`
    const bytes = Buffer.byteLength(line)
    this.#shares.add(check.code, bytes)
    this.#count(check.code, view.studentId, view.line)
    this.#push(line, bytes)
  }

  #push(line: string, bytes: number): void {
    this.#texts.push(line)
    this.#size += bytes
    if (this.#size > 1 << 20) this.#flush()
  }

  #count(name: string, studentId: string, line: number): void {
    const code = getOrMake(this.#codes, name, () => {
      return { number: this.#codes.size, stored: 0, students: 0, firstLine: line }
    })
    code.stored++
    if (studentId !== '' && this.#students.add(code.number, studentId)) code.students++
  }

  /**
   * Drops findings beyond the share of their code, which is known only now: each code keeps its first ones. What is
   * counted of them is counted again.
   */
  #trim(): void {
    const whole = `${this.#path}.whole`
    renameSync(this.#path, whole)
    this.#file = openSync(this.#path, 'w', 0o600)
    this.#codes.clear()
    this.#students = new DistinctTexts()
    const kept = this.#shares.divide()
    const source = new FileSource(whole)
    const lines = new LineReader(source.read, { longest: MOST_LINE })
    while (lines.next()) {
      const line = `${lines.bytes}\n`
      const { errorCode, studentId = '', line: place } = JSON.parse(line) as Finding
      const bytes = Buffer.byteLength(line)
      if (!kept(errorCode, bytes)) continue
      this.#count(errorCode, studentId, place)
      this.#push(line, bytes)
    }
    source.close()
    rmSync(whole)
    this.#flush()
    closeSync(this.#file)
  }

  #flush(): void {
    const bytes = Buffer.from(this.#texts.join(''))
    this.#texts.length = 0
    this.#size = 0
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
  }
}

function json(text: string): string {
  return JSON.stringify(toShown(text))
}
