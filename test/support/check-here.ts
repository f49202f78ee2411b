import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type checkFiles, readFindings } from '../../src/engines/checking/check-files.ts'
import { runEngine } from '../../src/engines/checking/engine/run.ts'
import { DEFAULT_LIMITS } from '../../src/engines/checking/process/limits.ts'
import { makeFolder } from '../../src/foundation/make-folder.ts'

/** Checks files as `checkFiles` does, but in this process: starting another takes longer than checking a small return. */
export const checkHere: typeof checkFiles = async (request, options = {}) => {
  const { limits, temporary = tmpdir(), onProgress = () => undefined } = options
  const given = typeof request === 'function' ? await request() : request
  makeFolder(temporary, 0o700)
  const folder = await mkdtemp(join(temporary, 'check-'))
  const files = []
  for (const file of given.files) {
    const path = 'path' in file ? file.path : join(folder, `${file.resource}.input`)
    if ('open' in file) await writeFile(path, file.open())
    files.push({ ...file, path })
  }
  const output = join(folder, 'findings.ndjson')
  const input = { ...DEFAULT_LIMITS, ...limits, files, skip: {}, folder: join(folder, 'work'), output }
  const summary = await runEngine({ ...given, ...input }, onProgress)
  return {
    summary,
    path: output,
    findings: () => readFindings(output),
    dispose: () => rm(folder, { recursive: true, force: true }),
  }
}
