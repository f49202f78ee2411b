import { expect, test } from 'vitest'
import { openDatabase } from '../src/foundation/database/open.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

async function openTable() {
  const url = temporaryDatabaseUrl()
  const database = await openDatabase(url)
  const other = await openDatabase(url)
  await database.write('schema', (writer) => writer.run('create table counted (value integer not null)'))
  const values = async () => {
    const rows = await other.all<{ value: number }>('select value from counted order by value')
    return rows.map(({ value }) => value)
  }
  return { database, other, values }
}

const INSERT = 'insert into counted (value) values ($1)'

test('a transaction that fails leaves nothing, and the next one is stored', async () => {
  const { database, other, values } = await openTable()
  const failing = database.write('catalogue', async (writer) => {
    await writer.run(INSERT, [1])
    await writer.load('counted', ['value'], [[2], [3]])
    throw new Error('the work failed')
  })
  await expect(failing).rejects.toThrow('the work failed')
  expect(await values()).toEqual([])
  await database.write('catalogue', (writer) => writer.run(INSERT, [4]))
  expect(await values()).toEqual([4])
  await Promise.all([database.close(), other.close()])
})

test('others see a transaction once it is committed, and its writer sees it at once', async () => {
  const { database, other, values } = await openTable()
  await database.write('catalogue', async (writer) => {
    await writer.run(INSERT, [1])
    expect(await writer.get('select value from counted')).toEqual({ value: 1 })
    expect(await values()).toEqual([])
  })
  expect(await values()).toEqual([1])
  await Promise.all([database.close(), other.close()])
})

test('transactions of several connections that add to one value lose no addition', async () => {
  const { database, other, values } = await openTable()
  await database.write('catalogue', (writer) => writer.run(INSERT, [0]))
  const add = (connection: typeof database) =>
    connection.write('catalogue', async (writer) => {
      const { value } = (await writer.get<{ value: number }>('select value from counted')) ?? { value: 0 }
      await new Promise((resolve) => setImmediate(resolve))
      await writer.run('update counted set value = $1', [value + 1])
    })
  await Promise.all(Array.from({ length: 10 }, (_, index) => add(index % 2 === 0 ? database : other)))
  expect(await values()).toEqual([10])
  await Promise.all([database.close(), other.close()])
})

test('a snapshot shows the state at its first read, whatever is committed meanwhile', async () => {
  const { database, other } = await openTable()
  const count = 'select count(*) as rows from counted'
  await database.snapshot(async (reader) => {
    const before = await reader.get(count)
    await other.write('catalogue', (writer) => writer.run(INSERT, [1]))
    expect(await reader.get(count)).toEqual(before)
  })
  await Promise.all([database.close(), other.close()])
})
