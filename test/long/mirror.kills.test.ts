import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'

const record = (number: number, titleEnglish: string) => ({
  occupationCode: `O${String(number).padStart(5, '0')}`,
  titleEnglish,
})
const ndjson = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

test('mirror killed at any moment leaves a complete copy, and the next run goes on', async () => {
  const installation = new Installation()
  installation.write(
    'next.ndjson',
    ndjson(Array.from({ length: 3000 }, (_, number) => record(number, 'A title'))),
  )
  await installation.runJson(['occupations', 'import', 'next.ndjson'])
  const { key } = (await installation.runJson(['keys', 'create', '--client', 'mirror'])) as { key: string }
  const { url } = await installation.serve({ RATE_LIMIT_OCCUPATIONS: 'off' })
  const environment = { MAHI_API_KEY: key }
  const mirror = () => installation.run(['mirror', url, 'copy'], { environment })
  const copy = () => installation.read('copy/occupations.ndjson')
  const truth = () => installation.catalogue()
  await mirror()
  let before = copy()
  for (let round = 0; round < 6; round++) {
    installation.write(
      'next.ndjson',
      ndjson(Array.from({ length: 2500 }, (_, number) => record(number + round, `Round ${round}`))),
    )
    await installation.runJson(['occupations', 'import', 'next.ndjson', '--replace'])
    const after = await truth()

    const command = installation.start(['mirror', url, 'copy'], { environment })
    const path = join(installation.folder, 'copy', 'occupations.ndjson.new')
    // Somewhere between the start of the process and its end, further on in each round.
    while (!existsSync(path) && command.child.exitCode === null) await sleep(5)
    await sleep(round * 5)
    command.kill('SIGKILL')
    await command.ended
    expect([before, after]).toContain(copy())
    before = copy()
  }
  expect(await mirror()).toMatchObject({ code: 0 })
  expect(copy()).toBe(await truth())
})
