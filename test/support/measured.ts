import { pathToFileURL } from 'node:url'
import type { Installation, Outcome, RunOptions } from './command.ts'

/** Runs a command to its end, in a process, and returns its peak memory in bytes. */
export async function runMeasured(
  mahi: Installation,
  parameters: readonly string[],
  options: RunOptions = {},
): Promise<Outcome & { peak: number }> {
  const hook = mahi.write(
    'measure.mjs',
    `import { writeFileSync } from 'node:fs'
     process.on('exit', () => writeFileSync('peak', String(process.resourceUsage().maxRSS)))`,
  )
  const environment = {
    ...options.environment,
    NODE_OPTIONS: `--import=${pathToFileURL(`${mahi.folder}/${hook}`)}`,
  }
  const outcome = await mahi.start(parameters, { ...options, environment }).ended
  // Node reports kilobytes.
  return { ...outcome, peak: Number(mahi.read('peak')) * 1024 }
}
