import { expect, test } from 'vitest'
import { createId } from '../src/http/request-ids.ts'

test('ids are UUIDs of version 4, and no two of them are alike', () => {
  const ids = Array.from({ length: 5000 }, createId)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('every digit of an id but those that are fixed is random', () => {
  const ids = Array.from({ length: 5000 }, createId)
  const seen = Array.from({ length: 36 }, (_, place) => new Set(ids.map((id) => id[place])).size)
  expect(seen).toEqual(
    Array.from({ length: 36 }, (_, place) =>
      [8, 13, 14, 18, 23].includes(place) ? 1 : place === 19 ? 4 : 16,
    ),
  )
})
