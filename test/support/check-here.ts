import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type checkFiles, readFindings } from '../../src/engines/checking/engine/check-files.ts'
import { runEngine } from '../../src/engines/checking/engine/run.ts'
import { DEFAULT_LIMITS } from '../../src/engines/checking/process/limits.ts'
import { makeFolder } from '../../src/foundation/make-folder.ts'

/** Checks files as `checkFiles` does, but in this process: starting another takes longer than checking a small return. */
export const checkHere: typeof checkFiles = async (request, options = {}) => {
  const { limits, temporary = tmpdir(), onProgress = () => undefined } = options
  makeFolder(temporary, 0o700)
  const folder = await mkdtemp(join(temporary, 'check-'))
  const given = typeof request === 'function' ? await request(folder) : request
  const output = join(folder, 'findings.ndjson')
  const input = { ...DEFAULT_LIMITS, ...limits, skip: {}, folder: join(folder, 'work'), output }
  const summary = await runEngine({ ...given, ...input }, onProgress)
  return {
    summary,
    path: output,
    findings: () => readFindings(output),
    dispose: () => rm(folder, { recursive: true, force: true }),
  }
}
