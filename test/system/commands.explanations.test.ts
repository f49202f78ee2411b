import { expect, test } from 'vitest'
import { count } from '../../src/foundation/text/format-number.ts'
import { startCollection, submitTo } from '../support/collection.ts'
import { Installation } from '../support/command.ts'
import { listen } from '../support/connection.ts'

test('warnings are explained, and a submission is submitted, at the command line', async () => {
  const { service, createCaller } = await startCollection()
  const url = `http://127.0.0.1:${await listen(service)}`
  const provider = await createCaller('records', ['1001'])
  const token = await submitTo(provider, { notes: 3, remarks: 2 })

  const mahi = new Installation({ inProcesses: true })
  const run = async (command: string, ...more: string[]) => {
    const given = ['submissions', command, token, ...more, '--url', url, '--eid', '1001']
    return await mahi.run(given, { environment: { MAHI_API_KEY: provider.key } })
  }

  const open = await run('explanations')
  expect(open.stdout).toBe('LEA-note  Open: needs an explanation (3 findings)\n')
  expect(open.stderr).toContain('1 code needs an explanation before the submission.')
  const refused = await run('submit')
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toMatch(/^http\S+: This warning needs an explanation .*: LEA-note \(3 findings\)/)
  const hostile = await run('explain', 'LEA-note', '--reason', 'Other', '--text', 'Right\nLEA-x  Explained')
  expect(hostile).toMatchObject({ code: 0, stdout: '' })
  expect(hostile.stderr).toMatch(
    /^LEA-note {2}Explained \(3 findings\) by records, Other: Right\\u000aLEA-x {2}Explained$/m,
  )
  const { causes } = (await provider.ask('GET', `/submissions/${token}/validation-results/causes`)).body
  const { key } = causes.find(({ codes }: { codes: string[] }) => codes.includes('LEA-remark'))
  const cause = await run('explain', key, '--reason', 'Verified', '--json')
  expect(JSON.parse(cause.stdout)).toMatchObject({ target: key, kind: 'cause', reason: 'Verified' })
  const withdrawn = await run('withdraw', key, '--json')
  expect(JSON.parse(withdrawn.stdout).explanations.map(({ target }: { target: string }) => target)).toEqual([
    'LEA-note',
  ])

  const submitted = await run('submit')
  expect([submitted.code, submitted.stderr]).toEqual([
    0,
    expect.stringContaining('Submitted. It can no longer be changed.'),
  ])
  const { body: receipt } = await provider.ask('GET', `/submissions/${token}/receipt`)
  expect(submitted.stdout).toContain(
    'Receipt 1 for return 202512 of organisation 1001\nSubmitted by records at',
  )
  expect(receipt.files.length).toBe(2)
  for (const { file, records, sha256 } of receipt.files)
    expect(submitted.stdout).toContain(`\n${file}  ${count(records, 'record')}  ${sha256}\n`)
  expect(submitted.stdout).toContain('\nLEA-note  Explained (3 findings) by records, Other: Right')
  expect((await run('receipt')).stdout).toBe(submitted.stdout)
  expect(JSON.parse((await run('submit', '--json')).stdout)).toEqual(receipt)
})
