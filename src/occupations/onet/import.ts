import { join } from 'node:path'
import type { SourceRecord } from '../../input/source-record.ts'
import type { OccupationRecord } from '../schema.ts'
import { minorGroupOf, relateMinorGroup } from './groups.ts'
import {
  OCCUPATION_FILE,
  type OnetJobZone,
  type OnetOccupation,
  type OnetTask,
  readRelease,
} from './release.ts'
import { alternatePicker, findSingular, isPlural } from './titles.ts'
import { findWageCode, readWages, type Wages } from './wages.ts'

/**
 * What the licence, CC BY 4.0, requires to be shown wherever records made from O*NET are shown.
 *
 * @param release such as `27.0`; the sentence names none where it is not known
 */
export function describeSource(release: string | undefined): string {
  const database = release === undefined ? 'O*NET Database' : `O*NET ${release} Database`
  return (
    `These records include information from the ${database} by the U.S. Department of Labor, ` +
    'Employment and Training Administration (USDOL/ETA), used under the CC BY 4.0 license and modified.'
  )
}

export interface OnetOptions {
  /** The national OEWS wages, as CSV. */
  readonly wages?: string
  /** Add the groups of the nearest related occupations as Secondary ones. */
  readonly relatedGroups?: boolean
  /** Called for each record with the alternate titles that it has no room for. */
  readonly onOtherTitles?: (occupationCode: string, titles: readonly string[]) => void
  /** Called for each record whose pay is that of a combined wage code. */
  readonly onCombinedPay?: (occupationCode: string, wageCode: string) => void
}

/**
 * Reads an unpacked O*NET text release, and the national OEWS wages where their CSV file is given, as
 * occupation records in the order of their codes. Everything is read and checked before the first record
 * comes.
 *
 * - `occupationCode`: O*NET-SOC Code, as it is (`11-1011.00`).
 * - `titleEnglish`: O*NET's own singular of the Title where it has one among the Alternate Titles
 *   (`findSingular`), otherwise the Title as it is.
 * - `titlePluralEnglish`: Title, where it is a plural (`isPlural`).
 * - `altJobTitlesEnglish`: the seven best Alternate Titles (`alternatePicker` defines the order).
 * - `descriptionEnglish`: Description.
 * - `detailedWorkActivitiesEnglish`: the distinct DWA Titles that the occupation's tasks link to; the
 *   tasks in the order of `lifeOnTheJobEnglish`, the links of a task in the order of their file.
 * - `trainingDuration`: Job Training of the job zone.
 * - `lifeOnTheJobEnglish`: the task statements, which tell what a day is made of: Core before Supplemental
 *   before unrated, then by Incumbents Responding, most first, then in the order of their file.
 * - `entryRequirements`, from the job zone: `entrySummaryEnglish` is its Name; `entryYouNeedEnglish` its
 *   Experience, which says what is needed; `entryYouMayNeedEnglish` its Education, which says what some or
 *   most occupations of the zone ask for, and so never what this one requires.
 * - `minorGroups`: the occupation's own, as Primary, with its major group as Primary. The codes follow from
 *   the SOC; the names are those of the wages file, where it has them. Only on request, the groups of the
 *   related occupations of tier Primary-Short follow as Secondary, by Index: they are no groups of the occupation.
 * - `renumeration`: A_PCT10, A_PCT25, A_PCT75 and A_PCT90 of the detailed wage row whose code is the first
 *   seven characters of the occupation's, or where there is none, of the combined code that ends in 0 (31-1120
 *   for 31-1121.00). `#` (top-coded) and `*` (not available) are absent.
 * - `lastUpdatedDate`: the newest Date of a task statement: the first of that month, UTC.
 *
 * Not mapped, for want of a field that means the same: SVP Range and Examples of the job zone, the wider
 * tiers of related occupations, employment and hourly wages. The source holds no te reo Māori and no
 * registration authority.
 *
 * @throws {InputRefused} for a missing file or column, a row that cannot be read, or a reference to
 *   something that the release does not hold
 */
export async function* readOnet(folder: string, options: OnetOptions): AsyncGenerator<SourceRecord> {
  const wages = options.wages === undefined ? undefined : await readWages(options.wages)
  const occupations = await readRelease(folder)
  const file = join(folder, OCCUPATION_FILE)
  const pickAlternates = alternatePicker(occupations.values())
  for (const occupation of [...occupations.values()].sort((a, b) => (a.code < b.code ? -1 : 1))) {
    const { code, line } = occupation
    const singular = findSingular(occupation)
    const wageCode = wages === undefined ? undefined : findWageCode(wages, code)
    const pay = wageCode === undefined ? undefined : wages?.pay.get(wageCode)
    if (pay !== undefined && wageCode !== undefined && !code.startsWith(wageCode)) {
      options.onCombinedPay?.(code, wageCode)
    }
    const alternates = pickAlternates(occupation, singular)
    const shown = new Set([...alternates, singular, occupation.title])
    options.onOtherTitles?.(
      code,
      distinct(occupation.alternates.map(({ title }) => title)).filter((title) => !shown.has(title)),
    )
    const groups = relateGroups(occupation, wages, options.relatedGroups === true)
    const value = toRecord(occupation, { singular, alternates, groups, pay })
    const inexact = wageCode !== undefined && wages?.inexact.has(wageCode) === true
    yield { file, line, value, ...(inexact && { inexact }) }
  }
}

interface Derived {
  readonly singular: string | undefined
  readonly alternates: readonly string[]
  readonly groups: OccupationRecord['minorGroups']
  readonly pay: OccupationRecord['renumeration']
}

function toRecord(
  occupation: OnetOccupation,
  { singular, alternates, groups, pay }: Derived,
): OccupationRecord {
  const { code, title, description, zone } = occupation
  const tasks = orderTasks(occupation)
  const activities = distinct(tasks.flatMap((task) => task.activities))
  const statements = distinct(tasks.map((task) => task.statement))
  const newest = tasks.reduce((latest, { date }) => (date > latest ? date : latest), '')
  return {
    occupationCode: code,
    ...(title && { titleEnglish: singular ?? title }),
    ...((singular !== undefined || isPlural(title)) && { titlePluralEnglish: title }),
    ...(alternates.length > 0 && { altJobTitlesEnglish: [...alternates] }),
    ...(description && { descriptionEnglish: description }),
    ...(activities.length > 0 && { detailedWorkActivitiesEnglish: activities }),
    ...(zone?.training && { trainingDuration: zone.training }),
    ...(statements.length > 0 && { lifeOnTheJobEnglish: statements }),
    ...(zone && { entryRequirements: toEntryRequirements(zone) }),
    ...(groups && { minorGroups: groups }),
    ...(pay && { renumeration: pay }),
    ...(newest && { lastUpdatedDate: newest }),
  }
}

function toEntryRequirements({ name, experience, education }: OnetJobZone) {
  return {
    ...(name && { entrySummaryEnglish: name }),
    ...(experience && { entryYouNeedEnglish: [experience] }),
    ...(education && { entryYouMayNeedEnglish: [education] }),
  }
}

function relateGroups(
  { code, nearest }: OnetOccupation,
  wages: Wages | undefined,
  related: boolean,
): OccupationRecord['minorGroups'] {
  const [own, ...others] = distinct([code, ...(related ? nearest : [])].map(minorGroupOf))
  return [
    ...(own === undefined ? [] : [relateMinorGroup('Primary', own, wages?.groupNames)]),
    ...others.map((other) => relateMinorGroup('Secondary', other, wages?.groupNames)),
  ]
}

const TASK_RANKS = new Map([
  ['Core', 0],
  ['Supplemental', 1],
])

function orderTasks({ tasks }: OnetOccupation): OnetTask[] {
  const rank = ({ type }: OnetTask) => TASK_RANKS.get(type) ?? TASK_RANKS.size
  return [...tasks.values()].sort((a, b) => rank(a) - rank(b) || b.respondents - a.respondents)
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '')
}
