import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { planLaunch } from '../../src/foundation/command-line/memory.ts'
import { Installation } from '../support/command.ts'
import { testWhere } from '../support/test-where.ts'

test('a process gets a heap within its memory, and keeps what it was given', () => {
  expect(planLaunch({ MEMORY_MB: '512' }).flags).toEqual([
    '--max-semi-space-size=8',
    '--min-semi-space-size=8',
    '--max-old-space-size=224',
  ])
  const given = planLaunch(
    { MEMORY_MB: '512', NODE_OPTIONS: '--max_old_space_size=100', MALLOC_ARENA_MAX: '7' },
    ['--max-semi-space-size=4'],
  )
  expect(given.flags).toEqual(['--max-semi-space-size=4'])
  expect(given.environment.MALLOC_ARENA_MAX).toBe('7')
})

const testProc = testWhere(
  existsSync('/proc/self/cmdline'),
  'the command line of a process is read from /proc',
)

testProc(
  'mahi serve replaces its process by one that keeps within MEMORY_MB, and its worker does too',
  async () => {
    const mahi = new Installation({ inProcesses: true })
    const { command } = await mahi.serve({ MEMORY_MB: '640', WORKERS: '1' })
    const read = (pid: number, name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0')
    // The same process, which signals reach.
    const own = command.child.pid ?? 0
    const [worker] = readFileSync(`/proc/${own}/task/${own}/children`, 'utf8').split(' ').map(Number)
    for (const pid of [own, worker ?? 0]) {
      expect(read(pid, 'cmdline')).toContain('--max-old-space-size=280')
      expect(read(pid, 'environ')).toContain('MALLOC_ARENA_MAX=2')
    }
    expect(command.stderr).toBe('')
    command.kill('SIGTERM')
    expect(await command.ended).toMatchObject({ code: 0, signal: null })
  },
)

test('a failed start ends with its own status', async () => {
  const { code, stderr } = await new Installation({ inProcesses: true }).run(['serve'], {
    environment: { PORT: 'x' },
  })
  expect(code).toBe(1)
  expect(stderr).toContain('PORT must be')
})
