import { count } from '../../../foundation/text/format-number.ts'
import { summariseMessage } from '../engine/explain.ts'
import type { Cause, CodeSummary } from '../engine/summary.ts'
import { describeCause, placeOf } from './causes.ts'
import { collectShown } from './collect.ts'
import { listGaps, type ReportedFinding, type ReportWriter } from './report.ts'
import { escapeText } from './xml.ts'

/** The findings listed in a test case. */
const LISTED = 100

/** The causes listed in a test case. */
const LISTED_CAUSES = 15

/**
 * Writes JUnit XML for build servers: a test suite for each file, a test case for each code, with the causes of its
 * findings. Errors are failures. Warnings pass, with their text as output. Checks that did not run are skipped, in a suite of all that is incomplete.
 */
export const writeJunit: ReportWriter = async (input, append) => {
  const { summary } = input
  const first = Map.groupBy(await collectShown(input), ({ errorCode }) => errorCode)
  const suites = summary.files.map((file) => {
    const codes = summary.codes.filter((code) => code.file === file.resource)
    return { file, codes, failures: codes.filter(({ severity }) => severity === 'Error').length }
  })
  const { notRun } = summary
  const cases = suites.reduce((sum, { codes }) => sum + codes.length + 1, 0) + notRun.length
  const failures = suites.reduce((sum, suite) => sum + suite.failures, 0)
  await append('<?xml version="1.0" encoding="UTF-8"?>\n')
  await append(`<testsuites name="mahi check" tests="${cases}" failures="${failures}" errors="0">\n`)
  for (const { file, codes, failures: failed } of suites) {
    await append(
      `  <testsuite name="${escapeText(file.file)}" tests="${codes.length + 1}" failures="${failed}" errors="0" skipped="0">\n`,
    )
    // A file without findings is a passed test.
    await append(`    <testcase classname="${escapeText(file.resource)}" name="checked"/>\n`)
    for (const code of codes) {
      const causes = summary.causes.filter((cause) => cause.codes.includes(code.code))
      await append(renderCase(code, causes, first.get(code.code) ?? []))
    }
    await append('  </testsuite>\n')
  }
  const gaps = listGaps(summary).join('\n')
  if (gaps !== '') {
    await append(
      `  <testsuite name="not complete" tests="${notRun.length}" failures="0" errors="0" skipped="${notRun.length}">\n`,
    )
    for (const { code, reason } of notRun) {
      await append(`    <testcase classname="not run" name="${escapeText(code)}">`)
      await append(`<skipped message="${escapeText(reason)}"/></testcase>\n`)
    }
    await append(`    <system-out>${escapeText(gaps)}</system-out>\n  </testsuite>\n`)
  }
  await append('</testsuites>\n')
}

function renderCase(
  code: CodeSummary,
  causes: readonly Cause[],
  findings: readonly ReportedFinding[],
): string {
  const listed = findings
    .slice(0, LISTED)
    .map(({ file, line, errorDescription }) => `${file}:${line}: ${errorDescription}`)
  if (code.count > listed.length) listed.push(`… and ${code.count - listed.length} more`)
  const text = escapeText([...listCauses(causes), ...listed].join('\n'))
  const body =
    code.severity === 'Error'
      ? `<failure message="${escapeText(`${code.count}: ${summariseMessage(code.message)}`)}" type="Error">${text}</failure>`
      : `<system-out>Warning: ${text}</system-out>`
  return `    <testcase classname="${escapeText(code.file)}" name="${escapeText(code.code)}">${body}</testcase>\n`
}

function listCauses(causes: readonly Cause[]): string[] {
  const listed = causes
    .slice(0, LISTED_CAUSES)
    .map((cause) => `Cause: ${describeCause(cause)} First: ${placeOf(cause)}.`)
  if (causes.length > LISTED_CAUSES)
    listed.push(`… and ${count(causes.length - LISTED_CAUSES, 'more cause')}`)
  return listed
}
