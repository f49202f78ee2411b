import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One part of the long run. */
export interface Part {
  readonly name: string
  /** What it does, in words, such as for a list of parts. */
  readonly subject: string
  /** Its commands, one after the other; with a number that chooses what they try. */
  commands(options: PartOptions): readonly Command[]
  /** Whether a small run has it. */
  readonly small: boolean
}

interface PartOptions {
  readonly root: string
  readonly seed: number
  readonly small: boolean
  /** A PostgreSQL in which databases may be made. */
  readonly postgres: string | undefined
}

export interface Command {
  readonly words: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

const ENGINES = ['sqlite', 'postgres'] as const

/** The command once for each engine that is available, or only on SQLite in a small run. */
const onEngines = (
  { small, postgres }: PartOptions,
  words: (engine: string) => readonly string[],
): Command[] =>
  ENGINES.filter((engine) => engine === 'sqlite' || (!small && postgres !== undefined)).map((engine) => ({
    words: words(engine),
  }))

const vitest = (files: readonly string[], environment: Readonly<Record<string, string>> = {}): Command => ({
  words: ['npx', 'vitest', 'run', ...files],
  environment,
})

/** The files of tests that have properties. */
function listProperties(root: string): string[] {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  return files
    .map((file) => join('test', file))
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => /\bcases\(/.test(readFileSync(join(root, file), 'utf8')))
}

export const PARTS: readonly Part[] = [
  {
    name: 'suite',
    subject: 'the tests of test/long, on both engines',
    small: false,
    commands: () => [vitest(['test/long'])],
  },
  {
    name: 'bad-data',
    subject: 'input of 2 GB and of ten million lines',
    small: false,
    commands: () => [vitest(['hostile'], { MAHI_TEST_FULL: '1' })],
  },
  {
    name: 'properties',
    subject: 'every property with twenty times as many cases',
    small: false,
    commands: ({ root, seed }) => [
      vitest(listProperties(root), { PROPERTY_SCALE: '20', PROPERTY_SEED: String(seed) }),
    ],
  },
  {
    name: 'fuzz',
    subject: 'hostile requests to every operation; openapi.json says what each response may be',
    small: true,
    commands: (options) =>
      onEngines(options, (engine) => [
        ...['node', 'tools/fuzz/run.ts', '--engine', engine, '--seed', String(options.seed)],
        ...['--requests', options.small ? '3000' : '100000'],
      ]),
  },
  {
    name: 'attacks',
    subject: 'floods, bursts, slow callers and hostile content, within the memory limits of deploy/',
    small: true,
    commands: (options) =>
      onEngines(options, (engine) => [
        ...['node', 'tools/attacks/run.ts', '--engine', engine],
        ...(options.small ? ['--small'] : ['--minutes', '15']),
      ]),
  },
  {
    name: 'soak',
    subject: 'a mixed load while data changes: memory must level off',
    small: true,
    commands: (options) =>
      onEngines(options, (engine) => [
        ...['node', 'tools/soak/run.ts', '--engine', engine],
        ...(options.small ? ['--small'] : ['--minutes', '30']),
      ]),
  },
  {
    name: 'cuts',
    subject: 'commands, servers and workers that are killed at random moments',
    small: true,
    commands: ({ small, seed }) => [
      {
        words: [
          ...['npx', 'vitest', 'run', '--no-file-parallelism', ...(small ? ['--project', 'sqlite'] : [])],
          small ? 'faults.cuts' : 'cuts',
        ],
        environment: {
          MAHI_TEST_KILLS: small ? '3' : '200',
          MAHI_TEST_SEED: String(seed),
        },
      },
    ],
  },
  {
    name: 'regressions',
    subject: 'the processor time of each operation, beside the kept one',
    small: false,
    commands: () => [{ words: ['node', 'bench/regressions.ts'] }],
  },
  {
    name: 'refusals',
    subject: 'the response times of refusals that a caller must not be able to distinguish',
    small: false,
    commands: ({ postgres }) => [
      {
        words: ['node', 'bench/refusals.ts', ...(postgres === undefined ? [] : ['--postgres', postgres])],
      },
    ],
  },
  {
    name: 'mutations',
    subject: 'small faults in the rules, each of which a test must notice',
    small: false,
    commands: () => [{ words: ['node', 'tools/mutations/run.ts'] }],
  },
]
