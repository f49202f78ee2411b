import { expect, test } from 'vitest'
import { findMissing, openExchange } from '../src/api/serving/node-internals.ts'

test('this Node.js behaves as every use of its internals expects', async () => {
  expect(await findMissing()).toEqual([])
})

test('a Node.js without an internal is recognized', async () => {
  const withoutParser = () => {
    const exchange = openExchange()
    Object.defineProperty(exchange.connection, 'parser', { get: () => null, set: () => undefined })
    return exchange
  }
  expect(await findMissing((probe) => (probe === 'stop-parsing' ? withoutParser() : openExchange()))).toEqual(
    ['stop-parsing'],
  )
})
