import { expect, test } from 'vitest'
import { Service } from './support/service.ts'

test('a page names its first code and the first of the next page', async () => {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))

  const first = (await service.get('/v1/occupations?Limit=2')).json()
  expect(first).toMatchObject({ currentCursor: 'A', nextCursor: 'C', totalCount: 3, resultsCount: 2 })
  const last = (await service.get('/v1/occupations?Limit=2&Cursor=C')).json()
  expect(last).toMatchObject({ currentCursor: 'C', totalCount: 3, resultsCount: 1 })
  expect(last).not.toHaveProperty('nextCursor')
})
