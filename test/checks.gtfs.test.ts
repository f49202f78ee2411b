import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findDefinition, loadDefinition } from '../src/engines/checking/definition/load.ts'
import { checkFolder, places, readFaults } from './support/checking.ts'
import { pageOf, renderRulesPage } from './support/rules-page.ts'

const SAMPLES = join(import.meta.dirname, '../samples/gtfs')

describe('a definition from another field', () => {
  const definition = loadDefinition(findDefinition('gtfs'))

  test('is listed completely in RULES.md: npm run rules', () => {
    expect(readFileSync(pageOf(definition), 'utf8')).toBe(renderRulesPage(definition))
  })

  test('finds nothing in a clean timetable', async () => {
    const { findings, summary } = await checkFolder(join(SAMPLES, 'clean'), 'gtfs')
    expect(places(findings)).toEqual([])
    expect(summary.notRun).toEqual([])
  })

  test('finds exactly the recorded faults of another one', async () => {
    const folder = join(SAMPLES, 'faulty')
    const { findings } = await checkFolder(folder, 'gtfs')
    expect(places(findings).sort()).toEqual(readFaults(folder))
  })
})
