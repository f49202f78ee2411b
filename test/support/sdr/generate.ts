// Writes the samples of the Single Data Return, or as many fictitious records as a benchmark needs:
//   npm run samples
//   node test/support/sdr/generate.ts --to FOLDER --enrolments 1000000 [--learners 200000] [--courses 5000] [--faulty 0.01]
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { sizeOf } from './clean.ts'
import { renderSamples } from './samples.ts'
import { writeFolder } from './stream.ts'

const { values } = parseArgs({
  options: {
    to: { type: 'string' },
    enrolments: { type: 'string', default: '50000' },
    learners: { type: 'string' },
    courses: { type: 'string' },
    seed: { type: 'string', default: '2025' },
    faulty: { type: 'string', default: '0' },
  },
})

if (values.to === undefined) {
  const samples = renderSamples()
  for (const [folder, contents] of Object.entries(samples)) {
    const path = fileURLToPath(new URL(`../../../samples/sdr/${folder}/`, import.meta.url))
    mkdirSync(path, { recursive: true })
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(path, name), text)
  }
} else {
  const { learners, courses } = values
  const size = sizeOf(Number(values.enrolments), Number(values.seed))
  await writeFolder(
    values.to,
    {
      ...size,
      ...(learners !== undefined && { learners: Number(learners) }),
      ...(courses !== undefined && { courses: Number(courses) }),
    },
    Number(values.faulty),
  )
}
