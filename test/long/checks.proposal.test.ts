import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { Installation } from '../support/command.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('a proposal for a large file needs little memory', async () => {
  const folder = temporaryFolder()
  const lines = Array.from(
    { length: 400_000 },
    (_, index) => `K${index},${index % 7},${index},2025-01-0${(index % 9) + 1},text ${index}\n`,
  )
  writeFileSync(join(folder, 'large.csv'), `code,group,number,day,text\n${lines.join('')}`)
  const environment = { NODE_OPTIONS: '--max-old-space-size=80' }
  const { code, stderr } = await new Installation({ inProcesses: true }).run(
    ['definitions', 'init', folder],
    { environment },
  )
  expect([code, stderr]).toEqual([0, expect.stringContaining('No findings in the file that was checked.')])
  const { resources } = parse(readFileSync(join(folder, 'datapackage.yml'), 'utf8')) as {
    resources: { schema: { primaryKey: string } }[]
  }
  expect(resources[0]?.schema.primaryKey).toBe('code')
})
