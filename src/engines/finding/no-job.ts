import { fold } from './fold.ts'

/**
 * What people write where a form asks for their job and they have none, or do not say. None of it is work that a
 * classification of occupations has a code for.
 */
const NO_JOB: ReadonlySet<string> = new Set(
  `unemployed, not employed, jobless, no job, out of work, not working, never worked, between jobs, redundant,
  job seeker, jobseeker, job seeking, seeking work, seeking employment, looking for work, looking for a job,
  unable to work, beneficiary, on a benefit, on benefit,
  student, pupil, studying, in school, at school, at university,
  retired, retiree, semi retired, pensioner, old age pensioner, superannuitant,
  homemaker, housewife, house wife, househusband, house husband, home duties, housework,
  stay at home, stay at home mum, stay at home mom, stay at home mother, stay at home dad, stay at home father,
  stay at home parent, full time mum, full time mom, full time mother, full time dad, full time parent,
  mum, mom, mother, dad, father, parent,
  maternity leave, on maternity leave, parental leave, on parental leave, on leave, sick leave,
  self employed, employed, employee, various, other, none, no, nil, nothing, null, no occupation, no answer,
  n a, na, not applicable, not available, not stated, not specified, not known, not given, unspecified, unknown,
  do not know, dont know, refused, refuse to answer, prefer not to say, confidential, to be confirmed, tbc, tba, tbd`
    .split(',')
    .map((phrase) => phrase.trim()),
)

/** Whether a text says that somebody has no job, or nothing at all, such as `Retired`, `Law student` or `n/a`. */
export function isNoJob(text: string): boolean {
  const folded = fold(text)
  return NO_JOB.has(folded) || / students?$/.test(folded) || folded === 'students'
}
