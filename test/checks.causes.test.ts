import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { checkFolder } from './support/check-folder.ts'
import { SCALE } from './support/properties.ts'
import { FAULTS, inject } from './support/sdr/causes.ts'
import { makeTables, type Tables, writeReturn } from './support/sdr/small.ts'

const folder = mkdtempSync(join(tmpdir(), 'mahi-causes-'))
afterAll(() => rmSync(folder, { recursive: true }))

let number = 0
async function checkTables(tables: Partial<Tables>) {
  const place = join(folder, String(++number))
  writeReturn(place, tables)
  return await checkFolder(place, 'sdr')
}

const RETURNS = Array.from({ length: SCALE > 1 ? 10 : 4 }, (_, index) => index + 1)

describe('ten returns of 10 to 15 injected causes', () => {
  test.each(RETURNS)('return %i: few causes, each of one injected cause', async (seed) => {
    const { tables, injected, explain } = inject(
      makeTables({ seed, learners: 200, courses: 40, enrolments: 800 }),
      seed,
    )
    const { summary, findings } = await checkTables(tables)
    const causes = new Map<string, Map<string, number>>()
    let explained = 0
    for (const finding of findings) {
      const faults = explain(finding)
      const counts = causes.get(finding.cause ?? '') ?? new Map<string, number>()
      causes.set(finding.cause ?? '', counts)
      if (faults.length > 0) explained++
      // A finding that names a changed cell belongs to the fault that changed it.
      if (faults.length === 1) counts.set(faults[0] ?? '', (counts.get(faults[0] ?? '') ?? 0) + 1)
    }
    expect(injected.length).toBeGreaterThanOrEqual(10)
    const mixed = [...causes].filter(([, counts]) => counts.size > 1)
    expect(mixed.map(([key, counts]) => [key, ...counts])).toEqual([])
    expect(explained / findings.length).toBeGreaterThanOrEqual(0.95)
    expect(summary.causes.length).toBeLessThanOrEqual(injected.length * 2)
    const named = new Set([...causes.values()].flatMap((counts) => [...counts.keys()]))
    expect(injected.filter((name) => !named.has(name))).toEqual([])
  })

  test('use every kind of fault', () => {
    const used = RETURNS.flatMap((seed) => inject(makeTables(), seed).injected)
    expect(new Set(used).size).toBeGreaterThan(FAULTS.length * 0.8)
  })
})

test('every finding belongs to exactly one cause, whose counts are exact', async () => {
  const { tables } = inject(makeTables({ seed: 7, learners: 200, courses: 40, enrolments: 800 }), 7)
  const { summary, findings } = await checkTables(tables)
  const groups = Map.groupBy(findings, ({ cause = '' }) => cause)
  expect([...groups.keys()].sort()).toEqual(summary.causes.map(({ key }) => key).sort())
  for (const cause of summary.causes) {
    const own = groups.get(cause.key) ?? []
    expect(own.length, cause.key).toBe(cause.findings)
    expect(new Set(own.map(({ file, line }) => `${file}:${line}`)).size, cause.key).toBe(cause.records)
    const learners = new Set(own.flatMap(({ studentId }) => studentId ?? []))
    expect(learners.size, cause.key).toBe(cause.learners)
    expect(own.map(({ file, line }) => `${file}:${line}`)).toContain(
      `${cause.example.file}:${cause.example.line}`,
    )
  }
  expect(summary.causes.reduce((sum, { findings: count }) => sum + count, 0)).toBe(
    summary.errors + summary.warnings,
  )
  const severities = summary.causes.map(({ severity }) => severity)
  expect(severities).toEqual([...severities].sort())
})
