import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { LiveIndex } from '../src/search/live-index.ts'
import { Service } from './support/service.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

test('the thread that loads the index is not terminated while it has the database open', async () => {
  const url = temporaryDatabaseUrl()
  const service = await Service.start({}, url)
  await service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
  const failed = vi.fn()
  const terminate = vi.spyOn(Worker.prototype, 'terminate')
  const index = new LiveIndex(url, { failed, unstored: failed })
  index.start()
  const closing = index.close()
  // It has the database open from its start.
  expect(terminate).not.toHaveBeenCalled()
  await closing
  expect(terminate).toHaveBeenCalledOnce()
  expect(failed).not.toHaveBeenCalled()
})

test('an index can be closed at any moment', async () => {
  const url = temporaryDatabaseUrl()
  const service = await Service.start({}, url)
  const failed = vi.fn()
  for (let round = 0; round < 12; round++) {
    await service.import([{ occupationCode: 'A', titleEnglish: `Nurse ${round}` }])
    const index = new LiveIndex(url, { failed, unstored: failed })
    index.start()
    await new Promise((resolve) => setTimeout(resolve, 40 * round))
    await index.close()
  }
  expect(failed).not.toHaveBeenCalled()
  const index = new LiveIndex(url, { failed, unstored: failed })
  expect(await index.ready(30_000)).toBeDefined()
  await index.close()
})
