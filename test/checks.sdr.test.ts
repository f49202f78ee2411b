import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listChecks } from '../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../src/engines/checking/definition/load.ts'
import { describeCheck, describeKind } from '../src/engines/checking/explain.ts'
import { resolveParameters } from '../src/engines/checking/parameters.ts'
import { checkFolder, places, readFaults } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { pageOf, renderRulesPage } from './support/rules-page.ts'
import { renderSamples } from './support/sdr/samples.ts'
import { writeFolder } from './support/sdr/stream.ts'
import { temporaryFolder } from './support/temporary.ts'

const SAMPLES = join(import.meta.dirname, '../samples/sdr')
const definition = loadDefinition(findDefinition('sdr'))
const checks = [...listChecks(definition)].map(({ resource, check }) => describeCheck(resource, check))
/** What samples/README.md lists of the return as exported. */
function listExported(): { file: string; findings: number; isFixed: boolean }[] {
  const page = readFileSync(join(SAMPLES, '../README.md'), 'utf8')
  const rows = page.matchAll(/^\| `([\w.-]+\.csv)` \|.*\| ([\d,]+) \| (yes )?\|$/gm)
  return [...rows].map(([, file = '', findings = '', fixed]) => {
    return { file, findings: Number(findings.replaceAll(',', '')), isFixed: fixed !== undefined }
  })
}

/** Rules of earlier returns do not apply to that of December 2025. */
const applying = checks.filter(({ until }) => until === undefined || until >= '2025-12-31')

describe('the definition of the Single Data Return', () => {
  test('has at least 150 field checks and 35 rules in SQL', () => {
    const fields = checks.filter(({ code }) => /-(?!00)\d\d-[a-z]/.test(code))
    const rules = definition.resources.flatMap((resource) => resource.rules)
    expect(fields.length).toBeGreaterThanOrEqual(150)
    expect(rules.length).toBeGreaterThanOrEqual(35)
  })

  test('shows every official number that is public', () => {
    const numbers = checks.flatMap(({ replaces = '' }) => replaces.split(', ').filter(Boolean))
    expect([...new Set(numbers)].sort()).toEqual(['001', '002', '101', '102', '105', '108', '362', '363'])
  })

  test('says why and how to fix, for every check', () => {
    for (const { code, why, fix } of checks) expect(why && fix, code).toBeTruthy()
  })

  test('describes a reference, a list and a wrong return by what is wrong', () => {
    const enrolments = definition.resources.find(({ name }) => name === 'enrolments')
    const described = enrolments?.foreignKeys.map(({ check }) => describeKind(enrolments, check))
    expect(described).toContain('studentIdentificationCode refers to no record of learners.')
    const ethnicity = checks.find(({ code }) => code === 'LEA-21-items')
    expect(ethnicity?.message).toBe('ethnicity contains a code that is not permitted.')
    expect(() => resolveParameters(definition, { returnId: '2025-12' })).toThrow(
      'sdr has no return "2025-12"; a return is written like 202512',
    )
    expect(() => resolveParameters(definition, { returnId: '202511' })).toThrow(
      'sdr has no return "202511"; its returns of 2025 are 202503, 202504, 202508, 202512',
    )
  })

  test('states the source of every rule, and that it is not the official rule set', () => {
    const own = checks.filter(({ code }) => /-[12]\d\d$/.test(code))
    for (const { code, source, basis } of own) {
      expect(source, code).toMatch(/^https?:\/\//)
      expect(basis, code).toBeDefined()
    }
    expect(definition.notice).toContain('not the official rule set')
  })

  test('is listed completely in RULES.md: npm run rules', () => {
    expect(readFileSync(pageOf(definition), 'utf8')).toBe(renderRulesPage(definition))
  })
})

describe('the samples', () => {
  test('are what the generator writes: npm run samples', () => {
    for (const [folder, contents] of Object.entries(renderSamples())) {
      expect(readdirSync(join(SAMPLES, folder)).sort()).toEqual(Object.keys(contents).sort())
      for (const [name, text] of Object.entries(contents)) {
        const written = readFileSync(join(SAMPLES, folder, name))
        expect(written.equals(Buffer.from(text)), `${folder}/${name}`).toBe(true)
      }
    }
  })

  test('have no finding in the clean return, and every rule ran', async () => {
    const { findings, summary } = await checkFolder(join(SAMPLES, 'clean'), 'sdr')
    expect(places(findings)).toEqual([])
    expect(summary.notRun).toEqual([])
  })

  test('have a fault for every code that applies', () => {
    const faults = new Set(readFaults(join(SAMPLES, 'faulty')).map((fault) => fault.split(' ')[0]))
    // A file that is missing or unreadable is tested below, as it would hide its records.
    const expected = applying.filter(({ kind }) => kind !== 'file').map(({ code }) => code)
    expect([...faults].sort()).toEqual(expected.sort())
  })

  test('have exactly the recorded findings in the faulty return, code by code', async () => {
    const folder = join(SAMPLES, 'faulty')
    const { findings, summary } = await checkFolder(folder, 'sdr')
    const found = Map.groupBy(places(findings).sort(), (place) => place.split(' ')[0])
    const recorded = Map.groupBy(readFaults(folder), (place) => place.split(' ')[0])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(recorded))
    expect(summary.notRun).toEqual([])
  })

  test('have exactly ten causes in the return as exported, those that samples/README.md lists', async () => {
    const { summary } = await checkFolder(join(SAMPLES, 'as-exported'), 'sdr')
    const causes = summary.causes.map(({ file, findings }) => `${file} ${findings}`)
    const listed = listExported().map(({ file, findings }) => `${file} ${findings}`)
    expect(listed).toHaveLength(10)
    expect(causes.sort()).toEqual(listed.sort())
    const about = summary.causes.map(({ file, example }) => `${file} ${example.field} ${example.value}`)
    expect(about.sort()).toEqual([
      'course-completions.csv courseCode FIC00013 ',
      'courses.csv eftsFactor 0,0050',
      'courses.csv learningHours #N/A',
      'enrolments.csv attendance 1',
      'enrolments.csv courseCode FIC00021',
      'enrolments.csv courseStartDate 06/03/2025',
      'enrolments.csv sourceOfFunding 3',
      'learners.csv studentIdentificationCode S0000121',
      'learners.csv undefined undefined',
      'qualification-completions.csv undefined undefined',
    ])
  })

  test('have five causes in the return as exported that --fix repairs, as samples/README.md says', async () => {
    const mahi = new Installation()
    const { stdout } = await mahi.run(['check', join(SAMPLES, 'as-exported'), '--fix', 'fixed', '--json'])
    const { causes, fixed } = JSON.parse(stdout) as {
      causes: { file: string; findings: number }[]
      fixed: { groups: { file: string; count: number }[] }
    }
    const left = listExported().filter(({ isFixed }) => !isFixed)
    expect(causes.map(({ file, findings }) => `${file} ${findings}`).sort()).toEqual(
      left.map(({ file, findings }) => `${file} ${findings}`).sort(),
    )
    const repaired = listExported().filter(({ isFixed }) => isFixed)
    expect(fixed.groups.map(({ file, count }) => `${file} ${count}`)).toEqual(
      expect.arrayContaining(repaired.map(({ file, findings }) => `${file} ${findings}`)),
    )
  })

  test('name the rules that a missing file prevents', async () => {
    const folder = temporaryFolder()
    cpSync(join(SAMPLES, 'clean'), folder, { recursive: true })
    rmSync(join(folder, 'learners.csv'))
    const { findings, summary } = await checkFolder(folder, 'sdr')
    expect(findings.map(({ errorCode }) => errorCode)).toEqual(['LEA-00-file'])
    const needing = summary.notRun.map(({ code }) => code)
    expect(needing).toEqual(expect.arrayContaining(['ENR-00-reference1', 'ENR-203', 'LEA-201', 'QCO-206']))
    expect(needing).not.toContain('CRS-202')
  })

  test('apply the rules of earlier returns when an earlier return is checked', async () => {
    const { summary } = await checkFolder(join(SAMPLES, 'clean'), 'sdr', { returnId: '202504' })
    expect(summary.codes.map(({ code }) => code)).toContain('LEA-208')
  })
})

describe('the generator', () => {
  test('writes a clean return of another size', async () => {
    const folder = temporaryFolder()
    await writeFolder(folder, { seed: 7, learners: 2000, courses: 120, enrolments: 9000 })
    const { findings, summary } = await checkFolder(folder, 'sdr')
    expect(places(findings)).toEqual([])
    expect(summary.files.map(({ records }) => records).slice(0, 3)).toEqual([2000, 120, 9000])
  })

  test('breaks every record when asked to', async () => {
    const folder = temporaryFolder()
    await writeFolder(folder, { seed: 7, learners: 200, courses: 40, enrolments: 800 }, 1)
    const { findings } = await checkFolder(folder, 'sdr')
    const records = new Set(findings.map(({ file, line }) => `${file}:${line}`))
    const written = readdirSync(folder).map(
      (name) => readFileSync(join(folder, name), 'utf8').split('\n').length - 2,
    )
    expect(records.size).toBe(written.reduce((sum, count) => sum + count, 0))
  })
})
