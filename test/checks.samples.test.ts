import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listChecks } from '../src/engines/checking/definition/definition.ts'
import {
  findDefinition,
  listOwnDefinitions,
  loadDefinition,
} from '../src/engines/checking/definition/load.ts'
import { resolveParameters } from '../src/engines/checking/definition/parameters.ts'
import { kindOfCheck } from '../src/engines/checking/engine/check-kinds.ts'
import { describeCheck } from '../src/engines/checking/engine/explain.ts'
import { testRules } from '../src/engines/checking/test-rules.ts'
import { checkFolder, places, readFaults } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { pageOf, renderRulesPage } from './support/rules-page.ts'
import { renderSamples } from './support/sdr/samples.ts'
import { makeTables, writeReturn } from './support/sdr/small.ts'
import { writeFolder } from './support/sdr/stream.ts'
import { temporaryFolder } from './support/temporary.ts'

const SAMPLES = join(import.meta.dirname, '../samples')

describe.each(listOwnDefinitions())('the definition %s', (name) => {
  const definition = loadDefinition(findDefinition(name))

  test('is valid, its rules pass their test, and it is listed completely in RULES.md: npm run rules', () => {
    expect(definition.name).toBe(name)
    expect(testRules(definition).faults).toEqual([])
    expect(readFileSync(pageOf(definition), 'utf8')).toBe(renderRulesPage(definition))
  })

  test('finds nothing in its clean sample, and exactly the recorded faults of the faulty one', async () => {
    const clean = await checkFolder(join(SAMPLES, name, 'clean'), name)
    expect([clean.findings, clean.summary.notRun]).toEqual([[], []])
    const folder = join(SAMPLES, name, 'faulty')
    const faulty = await checkFolder(folder, name)
    const byCode = (list: readonly string[]) =>
      Object.fromEntries(Map.groupBy([...list].sort(), (place) => place.split(' ')[0]))
    expect(byCode(places(faulty.findings))).toEqual(byCode(readFaults(folder)))
    expect(faulty.summary.notRun).toEqual([])
  })
})

describe('the definition of the Single Data Return', () => {
  const definition = loadDefinition(findDefinition('sdr'))
  const checks = [...listChecks(definition)].map(({ resource, check }) => describeCheck(resource, check))

  test('has reasons, fixes, sources, and every official number that is public', () => {
    const numbers = checks.flatMap(({ replaces = '' }) => replaces.split(', ').filter(Boolean))
    expect([...new Set(numbers)].sort()).toEqual(['001', '002', '101', '102', '105', '108', '362', '363'])
    expect(checks.filter(({ why, fix }) => !why || !fix)).toEqual([])
    const own = checks.filter(({ code }) => /-[12]\d\d$/.test(code))
    expect(
      own.filter(({ source = '', basis }) => !/^https?:\/\//.test(source) || basis === undefined),
    ).toEqual([])
    expect(definition.notice).toContain('not the official rule set')
  })

  test('describes a reference, a list and a wrong return by what is wrong', () => {
    const enrolments = definition.resources.find(({ name }) => name === 'enrolments')
    const described = enrolments?.foreignKeys.map(({ check }) =>
      kindOfCheck(check, enrolments).describe(check, enrolments),
    )
    expect(described).toContain('studentIdentificationCode refers to no record of learners.')
    const ethnicity = checks.find(({ code }) => code === 'LEA-21-items')
    expect(ethnicity?.message).toBe('ethnicity contains a code that is not permitted.')
    for (const [returnId, known] of [
      ['2025-12', 'a return is written like 202512'],
      ['202511', 'its returns of 2025 are 202503, 202504, 202508, 202512'],
    ] as const)
      expect(() => resolveParameters(definition, { returnId })).toThrow(
        `sdr has no return "${returnId}"; ${known}`,
      )
  })

  test('has a fault of every check that applies in the faulty sample', () => {
    const faults = new Set(readFaults(join(SAMPLES, 'sdr/faulty')).map((fault) => fault.split(' ')[0]))
    // Rules of earlier returns do not apply, and a file that cannot be read would hide its records.
    const applying = checks.filter(
      ({ until, kind }) => kind !== 'file' && (until === undefined || until >= '2025-12-31'),
    )
    expect([...faults].sort()).toEqual(applying.map(({ code }) => code).sort())
  })

  test('applies the rules of earlier returns, and needs fewer files for some', async () => {
    const { summary } = await checkFolder(join(SAMPLES, 'sdr/clean'), 'sdr', { returnId: '202504' })
    expect(summary.codes.map(({ code }) => code)).toContain('LEA-208')
    const folder = temporaryFolder()
    const { 'course-completions': _, ...tables } = makeTables()
    writeReturn(folder, tables)
    const codesOf = async (returnId: string) =>
      (await checkFolder(folder, 'sdr', { returnId })).findings.map(({ errorCode }) => errorCode)
    expect(await codesOf('202512')).toEqual(['CCO-00-file'])
    expect(await codesOf('202503')).not.toContain('CCO-00-file')
  })
})

test('the samples are what the generator writes: npm run samples', () => {
  for (const [folder, contents] of Object.entries(renderSamples())) {
    expect(readdirSync(join(SAMPLES, 'sdr', folder)).sort()).toEqual(Object.keys(contents).sort())
    for (const [name, text] of Object.entries(contents)) {
      const written = readFileSync(join(SAMPLES, 'sdr', folder, name))
      expect(written.equals(Buffer.from(text)), `${folder}/${name}`).toBe(true)
    }
  }
})

describe('the return as exported', () => {
  /** What samples/README.md lists of it. */
  const rows = readFileSync(join(SAMPLES, 'README.md'), 'utf8').matchAll(
    /^\| `([\w.-]+\.csv)` \|.*\| ([\d,]+) \| (yes )?\|$/gm,
  )
  const listed = [...rows].map(([, file, findings = '', fixed]) => ({
    cause: `${file} ${findings.replaceAll(',', '')}`,
    isFixed: fixed !== undefined,
  }))
  const toCauses = (causes: readonly { file: string; findings: number }[]) =>
    causes.map(({ file, findings }) => `${file} ${findings}`).sort()

  test('has exactly ten causes, those that samples/README.md lists', async () => {
    const { summary } = await checkFolder(join(SAMPLES, 'sdr/as-exported'), 'sdr')
    expect(listed).toHaveLength(10)
    expect(toCauses(summary.causes)).toEqual(listed.map(({ cause }) => cause).sort())
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

  test('has five that --fix repairs, as samples/README.md says', async () => {
    const folder = join(SAMPLES, 'sdr/as-exported')
    const { stdout } = await new Installation().run(['check', folder, '--fix', 'fixed', '--json'])
    const { causes, fixed } = JSON.parse(stdout) as {
      causes: { file: string; findings: number }[]
      fixed: { groups: { file: string; count: number }[] }
    }
    const ofKind = (isFixed: boolean) =>
      listed.flatMap((each) => (each.isFixed === isFixed ? each.cause : [])).sort()
    expect(toCauses(causes)).toEqual(ofKind(false))
    const groups = fixed.groups.map(({ file, count }) => `${file} ${count}`)
    expect(groups).toEqual(expect.arrayContaining(ofKind(true)))
  })
})

describe('the generator', () => {
  const size = { seed: 7, learners: 200, courses: 40, enrolments: 800 }

  test('writes a clean return of another size', async () => {
    const folder = temporaryFolder()
    await writeFolder(folder, size)
    const { findings, summary } = await checkFolder(folder, 'sdr')
    expect(places(findings)).toEqual([])
    expect(summary.files.map(({ records }) => records).slice(0, 3)).toEqual([200, 40, 800])
  })
})
