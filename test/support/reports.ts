import { join } from 'node:path'
import { FORMATS } from '../../src/engines/checking/report/formats.ts'
import type { Checked } from './checking.ts'
import { writeFiles } from './temporary.ts'

/** The report of a check, as text. */
export async function renderReport(format: keyof typeof FORMATS, checked: Checked): Promise<string> {
  const write = await FORMATS[format]()
  const path = join(writeFiles({ 'run.ndjson': checked.text }), 'run.ndjson')
  let text = ''
  await write(
    {
      summary: checked.summary,
      path,
      changes: undefined,
      isFixed: false,
      findings: async function* () {
        yield* checked.findings
      },
    },
    async (part) => {
      text += part
    },
  )
  return text
}
