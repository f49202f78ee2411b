import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endWithParent } from '../bench/end-with-parent.ts'

/** `npm run cuts`: kills commands, servers and workers as often as asked for, on one engine or on both. */
const { values: flags } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    engine: { type: 'string', default: 'sqlite,postgres' },
    /** Chooses the commands and the moments: the same seed, the same ones. */
    seed: { type: 'string', default: '1' },
  },
})

const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const projects = flags.engine.split(',').flatMap((engine) => ['--project', engine])
const child = spawn(
  process.execPath,
  [
    vitest,
    'run',
    '--no-file-parallelism',
    ...projects,
    'test/faults.cuts.test.ts',
    'test/faults.torn.test.ts',
    'test/submissions.cuts.test.ts',
  ],
  {
    cwd: root,
    stdio: 'inherit',
    // A group, because the tests start servers, which would stay.
    detached: true,
    env: { ...process.env, MAHI_TEST_KILLS: flags.kills, MAHI_TEST_SEED: flags.seed },
  },
)
endWithParent(child, () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'))
const [status] = (await once(child, 'exit')) as [number | null]
process.exitCode = status ?? 1
