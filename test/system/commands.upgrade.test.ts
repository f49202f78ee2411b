import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'
import {
  createFirstRelease,
  FIRST_RELEASE_KEY,
  FIRST_RELEASE_TOKEN,
  readFirstRelease,
} from '../support/first-release.ts'
import { ask } from '../support/load.ts'

const rowsOf = (table: string) => readFirstRelease().flatMap(([name, row]) => (name === table ? [row] : []))
const documentsOf = (table: string) => rowsOf(table).map(({ document }) => JSON.parse(String(document)))

const headers = { 'x-api-key': FIRST_RELEASE_KEY, eid: '1001' }

test('a database of version 0.1.0 opens, and everything in it is served as it was', async () => {
  const mahi = new Installation()
  await createFirstRelease(mahi.databaseUrl)
  const { url } = await mahi.serve()
  const read = async (path: string) => JSON.parse((await ask(`${url}${path}`, headers)).body)

  const list = await read('/v1/occupations')
  expect(list.data).toEqual(documentsOf('occupation'))
  expect(list.totalCount).toBe(rowsOf('occupation').length)
  for (const { major, minor, total } of rowsOf('occupation_filter')) {
    const filters = new URLSearchParams({
      ...(major && { 'Filter.MajorGroupCode': String(major) }),
      ...(minor && { 'Filter.MinorGroupCode': String(minor) }),
    })
    expect((await read(`/v1/occupations?${filters}`)).totalCount, `${filters}`).toBe(total)
  }
  const results = await read(`/v1/submissions/${FIRST_RELEASE_TOKEN}/validation-results`)
  expect(results.results).toEqual(documentsOf('result_entry'))

  const { keys } = (await mahi.runJson(['keys', 'list'])) as {
    keys: { id: string; revoked: string | null }[]
  }
  expect(keys.map(({ id, revoked }) => [id, revoked !== null])).toEqual(
    rowsOf('api_key').map(({ id, revoked }) => [id, revoked !== null]),
  )
})
