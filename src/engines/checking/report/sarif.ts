import type { Invocation, Location, ReportingDescriptor, Result, Run, ToolComponent } from 'sarif'
import { increment } from '../../../foundation/increment.ts'
import { PACKAGE_ROOT, VERSION } from '../../../foundation/package/root.ts'
import type { Cause, CodeSummary } from '../engine/summary.ts'
import { summariseMessage } from '../explain.ts'
import { chooseShown } from './collect.ts'
import { SOURCE_ROOT, toArtifact } from './locations.ts'
import {
  describeSubject,
  listGaps,
  type ReportedFinding,
  type ReportInput,
  type ReportWriter,
} from './report.ts'

/**
 * Writes SARIF 2.1.0 for code scanning, with the first findings of each code and of each cause; the rules and the
 * causes contain the exact counts. A result names its cause, and refers to the first finding of it.
 */
export const writeSarif: ReportWriter = async (input, append) => {
  const { summary, findings, locate } = input
  const codes = new Map(summary.codes.map(({ code }, index) => [code, index]))
  const causes = new Map(summary.causes.map((cause) => [cause.key, cause]))
  const driver: ToolComponent = {
    name: 'Mahi',
    version: VERSION,
    // An absolute URI is required, and there is no public site: docs/decisions/0010 says why it is this one.
    informationUri: new URL('docs/checks.md', PACKAGE_ROOT).href,
    rules: summary.codes.map(toRule),
  }
  const head: Pick<Run, 'tool' | 'columnKind' | 'originalUriBaseIds' | 'properties'> = {
    tool: { driver },
    columnKind: 'utf16CodeUnits',
    originalUriBaseIds: { [SOURCE_ROOT]: { description: { text: 'The folder in which mahi check ran.' } } },
    properties: {
      subject: describeSubject(summary),
      notice: summary.definition.notice,
      causes: summary.causes,
    },
  }
  await append(
    `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[${JSON.stringify(head).slice(0, -1)},"results":[`,
  )
  const isShown = chooseShown()
  const written = new Map<string, number>()
  let separator = '\n'
  for await (const finding of findings()) {
    if (!isShown(finding)) continue
    const { errorCode, cause = '' } = finding
    increment(written, errorCode)
    const result = toResult(finding, codes.get(errorCode), causes.get(cause), locate)
    await append(separator + JSON.stringify(result))
    separator = ',\n'
  }
  await append(`\n],"invocations":${JSON.stringify([describeInvocation(input, written)])}}]}\n`)
}

function describeInvocation({ summary }: ReportInput, written: ReadonlyMap<string, number>): Invocation {
  const partial = summary.codes.flatMap(({ code, count }) => {
    const shown = written.get(code) ?? 0
    return shown < count ? [`${code}: ${shown} of ${count} findings are in this file.`] : []
  })
  return {
    executionSuccessful: true,
    toolExecutionNotifications: [...listGaps(summary), ...partial].map((text) => ({
      level: 'warning',
      message: { text },
    })),
  }
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

function toResult(
  finding: ReportedFinding,
  ruleIndex: number | undefined,
  cause: Cause | undefined,
  locate: ReportInput['locate'],
): Result {
  return {
    ruleId: finding.errorCode,
    ...(ruleIndex !== undefined && { ruleIndex }),
    level: toLevel(finding.errorType),
    message: { text: finding.errorDescription },
    locations: [toLocation(finding, locate)],
    ...(cause !== undefined && {
      relatedLocations: [{ ...toLocation(cause.example, locate), message: { text: cause.sentence } }],
    }),
    partialFingerprints: { 'findingKey/v1': finding.findingKey },
    properties: { cause: finding.cause, field: finding.field, value: finding.value },
    ...(finding.standing === undefined
      ? {}
      : { baselineState: finding.standing === 'new' ? 'new' : 'unchanged' }),
  }
}

function toLocation({ file, line }: { file: string; line: number }, locate: ReportInput['locate']): Location {
  return {
    physicalLocation: { artifactLocation: toArtifact(locate(file)), region: { startLine: line } },
  }
}

function toLevel(severity: 'Error' | 'Warning'): 'error' | 'warning' {
  return severity === 'Error' ? 'error' : 'warning'
}
