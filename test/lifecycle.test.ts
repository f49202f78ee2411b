import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Lifecycle } from '../src/foundation/lifecycle.ts'
import { temporaryFolder } from './support/temporary.ts'

test('what was started last ends first, and each end is awaited', async () => {
  const lifecycle = new Lifecycle()
  const ended: string[] = []
  for (const name of ['database', 'worker', 'requests'])
    lifecycle.own(name, async () => {
      await Promise.resolve()
      ended.push(name)
    })
  lifecycle.announce()
  expect([lifecycle.stopping, ended]).toEqual([true, []])
  await Promise.all([lifecycle.end(), lifecycle.end()])
  expect(ended).toEqual(['requests', 'worker', 'database'])
})

test('what fails to end does not keep the rest from ending, and is reported', async () => {
  const lifecycle = new Lifecycle()
  const ended: string[] = []
  lifecycle.own('database', () => ended.push('database'))
  lifecycle.own('worker', () => Promise.reject(new Error('the queue cannot be reached')))
  lifecycle.own('requests', () => ended.push('requests'))
  await expect(lifecycle.end()).rejects.toThrow('the queue cannot be reached')
  expect(ended).toEqual(['requests', 'database'])
})

test('a process of jobs ends with its parent, also if that ends before the process is ready', async () => {
  const program = join(temporaryFolder(), 'program.mjs')
  const lifecycle = new URL('../src/foundation/lifecycle.ts', import.meta.url)
  writeFileSync(
    program,
    `setInterval(() => undefined, 1_000)
     if (process.argv[2] === 'late') await new Promise((resolve) => process.once('disconnect', resolve))
     const { Lifecycle } = await import(${JSON.stringify(lifecycle)})
     new Lifecycle().endWithParent()
     if (process.connected) process.send('ready')`,
  )
  for (const when of ['late', 'ready']) {
    const child = fork(program, [when])
    const ended = once(child, 'exit')
    if (when === 'ready') await once(child, 'message')
    child.disconnect()
    expect(await ended).toEqual([0, null])
  }
})
