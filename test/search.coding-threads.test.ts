import { expect, onTestFinished, test } from 'vitest'
import { createSlots } from '../src/api/create-serving.ts'
import { CodingThreads } from '../src/catalogue/search/coding-threads.ts'
import { toSearchDocument } from '../src/catalogue/search/documents.ts'
import { codeTitle } from '../src/engines/finding/coding.ts'
import { openIndex } from '../src/engines/finding/index-file.ts'
import { OccupationSearch } from '../src/engines/finding/search.ts'
import { buildIndex, packIndex } from './support/search-index.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Primary School Teacher' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]
const stays = () => false

function makeIndex(revision: string) {
  const documents = RECORDS.map((record) => toSearchDocument(record, []))
  return { revision, memory: packIndex(buildIndex(documents, { revision })) }
}

function start(): CodingThreads {
  const threads = new CodingThreads(createSlots().codings)
  onTestFinished(() => threads.close())
  return threads
}

test('lists are coded as on the main thread, in order, also at the same time', async () => {
  const threads = start()
  const index = makeIndex('1')
  const data = openIndex(index.memory)
  if (data === undefined) throw new Error('no index')
  const search = new OccupationSearch(data)
  const lists = Array.from({ length: 3 }, (_, list) =>
    Array.from({ length: 50 }, (_, at) => ({
      id: `${list}-${at}`,
      title: at % 2 === 0 ? 'truck driver' : 'teacher',
      tasks: 'x '.repeat(at * 20),
    })),
  )
  const coded = await Promise.all(lists.map((items) => threads.code(index, items, 'a', stays)))
  expect(coded).toEqual(lists.map((items) => items.map((item) => codeTitle(search, item))))
  expect(await threads.code(index, [], 'a', stays)).toEqual([])
})

test('the rest of a list is not coded once the caller has left', async () => {
  let asked = 0
  const hasLeft = () => ++asked > 2
  const items = Array.from({ length: 1_000 }, () => ({ title: 'teacher' }))
  await expect(start().code(makeIndex('1'), items, 'a', hasLeft)).rejects.toMatchObject({
    slug: 'unavailable',
  })
  expect(asked).toBe(3)
})

test('a thread that fails ends its lists, and the next list has another one', async () => {
  const threads = start()
  const broken = { revision: '0', memory: new SharedArrayBuffer(8) }
  const items = [{ title: 'teacher' }]
  await expect(threads.code(broken, items, 'a', stays)).rejects.toThrow('the index cannot be opened')
  const [coding] = await threads.code(makeIndex('1'), items, 'a', stays)
  expect(coding?.candidates[0]).toMatchObject({ occupationCode: 'A1' })
})
