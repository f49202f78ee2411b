import { join } from 'node:path'
import type { SourceRecord } from '../../engines/records/index.ts'
import type { OccupationRecord } from '../records/schema.ts'
import { minorGroupOf, relateMinorGroup } from './groups.ts'
import {
  OCCUPATION_FILE,
  type OnetJobZone,
  type OnetOccupation,
  type OnetTask,
  readRelease,
} from './release.ts'
import { alternatePicker, findSingular, isPlural, listForms } from './titles.ts'
import { findWageCode, readWages, type Wages } from './wages.ts'

/**
 * The attribution that the licence, CC BY 4.0, requires wherever records from O*NET are shown.
 *
 * @param release such as `27.0`; omitted from the sentence if unknown
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
  /** Add the groups of the nearest related occupations as Secondary groups. */
  readonly relatedGroups?: boolean
  /** Called for each record with the alternate titles that do not fit. */
  readonly onOtherTitles?: (occupationCode: string, titles: readonly string[]) => void
  /** Called for each record whose pay comes from a combined wage code. */
  readonly onCombinedPay?: (occupationCode: string, wageCode: string) => void
}

/**
 * Reads an unpacked O*NET text release, and optionally the national OEWS wages as CSV, as occupation records ordered
 * by code. Everything is read and checked before the first record is yielded.
 *
 * - `occupationCode`: the O*NET-SOC Code (`11-1011.00`).
 * - `titleEnglish`: the singular of the Title if the Alternate Titles contain it (`findSingular`), otherwise the
 *   Title.
 * - `titlePluralEnglish`: the Title, if it is a plural (`isPlural`).
 * - `altJobTitlesEnglish`: the seven best Alternate Titles (`alternatePicker` defines the order).
 * - `descriptionEnglish`: the Description.
 * - `detailedWorkActivitiesEnglish`: the distinct DWA Titles of the occupation's tasks, with the tasks in the order
 *   of `lifeOnTheJobEnglish` and the links of a task in file order.
 * - `trainingDuration`: the Job Training of the job zone.
 * - `lifeOnTheJobEnglish`: the task statements, which describe the work. Core comes before Supplemental before
 *   unrated, then more Incumbents Responding before fewer, then file order.
 * - `entryRequirements`, from the job zone: `entrySummaryEnglish` is its Name. `entryYouNeedEnglish` is its
 *   Experience, which says what is needed. `entryYouMayNeedEnglish` is its Education, which describes some or most
 *   occupations of the zone, but not a requirement of this one.
 * - `minorGroups`: the occupation's own minor group as Primary, with its major group as Primary. The codes follow
 *   from the SOC code; the names come from the wages file if it has them. Only on request, the groups of related
 *   occupations of tier Primary-Short follow as Secondary, by Index: the occupation does not belong to them.
 * - `renumeration`: A_PCT10, A_PCT25, A_PCT75 and A_PCT90 of the detailed wage row whose code is the first seven
 *   characters of the occupation's code. Otherwise they come from the combined code that ends in 0 (31-1120 for
 *   31-1121.00). `#` (top-coded) and `*` (not available) are omitted.
 * - `lastUpdatedDate`: the newest Date of a task statement, as the first day of that month in UTC.
 *
 * Not mapped, because no field has the same meaning: SVP Range and Examples of the job zone, wider tiers of related
 * occupations, employment and hourly wages. The source contains no te reo Māori and no registration authority.
 *
 * @throws {InputRefused} for a missing file or column, an unreadable row, or a reference to something that the
 *   release does not contain
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
      distinct(occupation.alternates.flatMap(listForms)).filter((title) => !shown.has(title)),
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
