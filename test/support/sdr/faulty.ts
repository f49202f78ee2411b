import { AS_OF, type Group, makeCourses, makeGroups, SAMPLE } from './clean.ts'
import { type File, type FileName, first, type Row, readFiles } from './columns.ts'
import type { Course } from './courses.ts'
import { YEAR } from './enrolments.ts'

/** A finding that the checks must report: no more and no fewer. */
export interface Fault {
  code: string
  file: FileName
  /** The record, or the line that cannot be read. Without one, the fault is in the header. */
  at: Row | string | undefined
}

/** The clean data, on its way to becoming faulty. Every fault gets a record that no other fault touches. */
export class Faulty {
  readonly files: File[] = readFiles()
  readonly courses: Course[] = makeCourses(SAMPLE)
  readonly groups: Group[] = [...makeGroups(SAMPLE, this.courses)]
  readonly faults: Fault[] = []
  /** Records beyond those of the clean data, written after them. */
  readonly added: Record<FileName, (Row | string)[]> = {
    learners: [],
    courses: [],
    enrolments: [],
    'course-completions': [],
    'qualification-completions': [],
  }
  readonly #taken = new Set<Group>()
  readonly #shared = new Set<Group>()
  readonly #rows = new Set<Row>()

  note(code: string, file: FileName, at: Fault['at']): void {
    this.faults.push({ code, file, at })
  }

  /** Adds a record that is a fault, or the other half of one. */
  add(file: FileName, row: Row, code?: string): Row {
    this.added[file].push(row)
    if (code !== undefined) this.note(code, file, row)
    return row
  }

  /** A learner, with everything that belongs to the learner, for one fault only. */
  takeGroup(suits: (group: Group) => boolean): Group {
    const group = this.groups.find((each) => !this.#taken.has(each) && !this.#shared.has(each) && suits(each))
    if (group === undefined) throw new Error('Too few learners for the faults.')
    this.#taken.add(group)
    return group
  }

  /**
   * An enrolment for one fault only. It ends after the return, so it has no outcome yet, and its learner has
   * others and no qualification, so that nothing else depends on it.
   */
  takeEnrolment(suits: (row: Row) => boolean = () => true): Row {
    for (const group of this.groups) {
      if (this.#taken.has(group) || !isDomestic(group) || group.enrolments.length < 3) continue
      if (group.qualifications.length > 0) continue
      // The first enrolment always stays as it is.
      const row = group.enrolments
        .slice(1)
        .find(
          (each) =>
            !this.#rows.has(each) &&
            PAID.has(each.sourceOfFunding ?? '') &&
            (each.courseEndDate ?? '') > AS_OF &&
            suits(each),
        )
      if (row === undefined) continue
      this.#shared.add(group)
      this.#rows.add(row)
      return row
    }
    throw new Error('Too few enrolments for the faults.')
  }

  /** The outcome of a course before the return year, which depends on nothing else. */
  takeCompletion(): Row {
    for (const group of this.groups) {
      if (this.#taken.has(group)) continue
      const row = group.completions.find(
        (each) => (each.courseEndDate ?? '') < '2025' && !this.#rows.has(each),
      )
      if (row === undefined) continue
      this.#rows.add(row)
      return row
    }
    throw new Error('Too few course completions for the faults.')
  }

  rowsOf(file: FileName): (Row | string)[] {
    const clean = {
      learners: () => this.groups.map((group) => group.learner),
      courses: () => this.courses.map((course) => course.row),
      enrolments: () => this.groups.flatMap((group) => group.enrolments),
      'course-completions': () => this.groups.flatMap((group) => group.completions),
      'qualification-completions': () => this.groups.flatMap((group) => group.qualifications),
    }
    return [...clean[file](), ...this.added[file]]
  }
}

/** Sources of funding whose enrolments have an actual fee and no rules of their own. */
const PAID = new Set(['01', '03', '11', '25', '37'])

/** A type D learner with domestic funding. */
export function isDomestic(group: Group): boolean {
  return group.learner.enrolmentType === 'D' && group.enrolments.every((row) => row.sourceOfFunding !== '02')
}

/** A learner whose own record can change without anything else depending on it. */
export function isPlain(group: Group): boolean {
  return (
    isDomestic(group) &&
    group.learner.firstYearOfTertiaryEducation !== '2025' &&
    group.qualifications.length === 0
  )
}

/** A type B learner: source of funding 11 has no outcomes. */
export function takeShort(data: Faulty, sourceOfFunding: string): Group {
  return data.takeGroup(
    ({ learner, enrolments }) =>
      learner.enrolmentType === 'B' && enrolments[0]?.sourceOfFunding === sourceOfFunding,
  )
}

/** A qualification whose last course ended in the return year and was not withdrawn. */
export function takeQualification(data: Faulty): Row {
  const group = data.takeGroup(({ qualifications: [row], enrolments }) =>
    enrolments.some(
      (each) => each.qualificationCode === row?.qualificationCode && each.courseWithdrawalDate === '',
    ),
  )
  return first(group.qualifications)
}

/** Whether a course ended in the return year or later. */
export function isCurrent(row: Row): boolean {
  return (row.courseEndDate ?? '') >= `${YEAR}-01-01`
}

/** A course of a kind. */
export function courseRow(data: Faulty, kind: string): Row {
  return first(data.courses.filter((course) => course.kind === kind)).row
}

/** The level of the course of an enrolment. */
export function levelOf(data: Faulty, enrolment: Row): string {
  return data.courses.find(({ row }) => row.courseCode === enrolment.courseCode)?.row.nzqcfLevel ?? ''
}
