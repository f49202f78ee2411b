import type { Invocation, ReportingDescriptor, Result, ToolComponent } from 'sarif'
import { VERSION } from '../../../foundation/package/root.ts'
import type { CodeSummary } from '../engine/summary.ts'
import { summariseMessage } from '../explain.ts'
import {
  describeSubject,
  listGaps,
  type ReportedFinding,
  type ReportWriter,
  SHOWN_OF_CODE,
} from './report.ts'

/** Writes SARIF 2.1.0 for code scanning, with the first findings of each code; the rules contain the exact counts. */
export const writeSarif: ReportWriter = async ({ summary, findings }, append) => {
  const codes = summary.codes.map(({ code }) => code)
  const partial = summary.codes.filter(({ count }) => count > SHOWN_OF_CODE)
  const gaps = [
    ...listGaps(summary),
    ...partial.map(
      ({ code, count }) => `${code}: the first ${SHOWN_OF_CODE} of ${count} findings are in this file.`,
    ),
  ]
  const driver: ToolComponent = {
    name: 'Mahi',
    version: VERSION,
    rules: summary.codes.map(toRule),
  }
  const invocation: Invocation = {
    executionSuccessful: true,
    toolExecutionNotifications: gaps.map((text) => ({ level: 'warning', message: { text } })),
  }
  await append(
    `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":${JSON.stringify({ driver })},"columnKind":"utf16CodeUnits","invocations":${JSON.stringify([invocation])},"properties":${JSON.stringify({ subject: describeSubject(summary), notice: summary.definition.notice })},"results":[`,
  )
  const written = new Map<string, number>()
  let separator = '\n'
  for await (const finding of findings()) {
    const number = (written.get(finding.errorCode) ?? 0) + 1
    written.set(finding.errorCode, number)
    if (number > SHOWN_OF_CODE) continue
    await append(separator + JSON.stringify(toResult(finding, codes.indexOf(finding.errorCode))))
    separator = ',\n'
  }
  await append('\n]}]}\n')
}

function toRule(code: CodeSummary): ReportingDescriptor {
  const help = [code.why, code.fix].filter((text) => text !== undefined).join(' ')
  return {
    id: code.code,
    shortDescription: { text: summariseMessage(code.message) },
    ...(help === '' ? {} : { help: { text: help } }),
    ...(code.source !== undefined && /^https?:/.test(code.source) ? { helpUri: code.source } : {}),
    defaultConfiguration: { level: toLevel(code.severity) },
    properties: { count: code.count, fields: code.fields, replaces: code.replaces },
  }
}

function toResult(finding: ReportedFinding, ruleIndex: number): Result {
  return {
    ruleId: finding.errorCode,
    ruleIndex,
    level: toLevel(finding.errorType),
    message: { text: finding.errorDescription },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURIComponent(finding.file) },
          region: { startLine: finding.line },
        },
      },
    ],
    partialFingerprints: { 'findingKey/v1': finding.findingKey },
    ...(finding.standing === undefined
      ? {}
      : { baselineState: finding.standing === 'new' ? 'new' : 'unchanged' }),
  }
}

function toLevel(severity: 'Error' | 'Warning'): 'error' | 'warning' {
  return severity === 'Error' ? 'error' : 'warning'
}
