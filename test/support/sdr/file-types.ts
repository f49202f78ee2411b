/** The file types of the samples in `samples/sdr`. */
export const SDR_FILES = [
  'learners',
  'courses',
  'enrolments',
  'course-completions',
  'qualification-completions',
] as const
