import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Command {
  readonly program: string
  readonly parameters: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** A part of the long run. */
export interface Part {
  readonly name: string
  /** What holds if it passes. */
  readonly promise: string
  readonly full: readonly Command[]
  /** In seconds, and without an expectation that a slow machine could miss; `undefined` if that makes no sense. */
  readonly small?: readonly Command[]
}

const node = (...parameters: string[]): Command => ({ program: 'node', parameters })
const vitest = (environment: Command['environment'], ...parameters: string[]): Command => ({
  program: 'npx',
  parameters: ['vitest', 'run', ...parameters],
  environment: environment ?? {},
})

/** @param seed of everything that is drawn at random */
export function listParts(seed: number): readonly Part[] {
  const of = String(seed)
  const cuts = (kills: number, ...more: string[]) =>
    vitest({ TEST_SUITE: 'long', MAHI_TEST_KILLS: String(kills), MAHI_TEST_SEED: of }, ...more)
  return [
    {
      name: 'clients',
      promise: 'the generators of clients, and DuckDB, accept what documents say',
      full: [
        {
          program: 'npm',
          parameters: ['install', '--no-audit', '--no-fund', '--prefix', 'tools/generators'],
        },
        { program: 'npm', parameters: ['install', '--no-audit', '--no-fund', '--prefix', 'tools/duckdb'] },
        vitest({ TEST_SUITE: 'long' }, '--project', 'sqlite', 'test/long/generators', 'test/system/duckdb'),
      ],
    },
    {
      name: 'tests',
      promise: 'failures of databases and machines, floods, drills of the runbook',
      full: [vitest({ TEST_SUITE: 'long', MAHI_TEST_FULL: '1', PROPERTY_SEED: of, CI: 'true' }, 'test/long')],
    },
    {
      name: 'properties',
      promise: 'what always holds, with twenty times as many cases',
      full: [vitest({ PROPERTY_SEED: of, PROPERTY_SCALE: '20' }, '--project', 'sqlite', ...findProperties())],
    },
    {
      name: 'cuts',
      promise: 'no kill and no torn file loses or changes what was stored',
      full: [
        cuts(
          200,
          '--no-file-parallelism',
          'test/long/faults.cuts',
          'test/long/faults.torn',
          'test/long/submissions.cuts',
        ),
      ],
      small: [cuts(2, '--project', 'sqlite', 'test/long/faults.torn', 'test/long/submissions.cuts')],
    },
    {
      name: 'fuzz',
      promise: 'openapi.json describes the response to any request',
      full: ['sqlite', 'postgres'].map((engine) =>
        node('tools/fuzz/run.ts', '--requests', '100000', '--engine', engine, '--seed', of),
      ),
      small: [node('tools/fuzz/run.ts', '--requests', '2000', '--seed', of)],
    },
    {
      name: 'attacks',
      promise: 'no attack takes more memory than deploy/ gives, or is noticed by others',
      full: ['sqlite', 'postgres'].map((engine) =>
        node('tools/attacks/run.ts', '--minutes', '10', '--engine', engine),
      ),
    },
    {
      name: 'soak',
      promise: 'memory, handles and files level off under a mixed load',
      full: ['sqlite', 'postgres'].map((engine) =>
        node('tools/soak.ts', '--minutes', '30', '--engine', engine),
      ),
      small: [node('tools/soak.ts', '--minutes', '0.15', '--rate', '50')],
    },
    {
      name: 'costs',
      promise: 'no operation needs more processor time than bench/regressions.json says',
      full: [node('bench/regressions.ts')],
    },
    {
      name: 'mutations',
      promise: 'each fault of tools/mutations is noticed by its test',
      full: [node('tools/mutations/run.ts')],
    },
  ]
}

/** The files with property tests. */
function findProperties(): string[] {
  const folders = ['test', 'test/system']
  const root = join(import.meta.dirname, '../..')
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name}`)
      .filter((file) => readFileSync(join(root, file), 'utf8').includes('cases(')),
  )
}
