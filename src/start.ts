import { limitMemory } from './foundation/command-line/memory.ts'

/** Commands that run until they are stopped. */
const LONG: ReadonlySet<string | undefined> = new Set(['demo', 'serve', 'work'])

// Before the program is loaded, because this may load it again.
if (LONG.has(process.argv[2])) limitMemory()
const { runProgram } = await import('./cli.ts')
await runProgram(process.argv.slice(2))
