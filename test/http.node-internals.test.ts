import { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { type Exchange, findMissing, type Internal, openExchange } from '../src/api/serving/node-internals.ts'

/** Makes a field of an object what another Node.js might have: absent, or without effect. */
function freeze(object: object, field: string, value: unknown): void {
  Object.defineProperty(object, field, { get: () => value, set: () => undefined, configurable: true })
}

/** Breaks something of each request as it arrives. */
function onRequest(change: (exchange: Exchange) => void): Exchange {
  const exchange = openExchange()
  exchange.server.prependListener('request', (request, response) => {
    change({ ...exchange, requests: [request], responses: [response] })
  })
  return exchange
}

function onConnection(change: (exchange: Exchange) => void): Exchange {
  const exchange = openExchange()
  change(exchange)
  return exchange
}

class HeadElsewhere extends ServerResponse {
  set _header(_: string) {}
  get _header(): string | null {
    return null
  }
}

/** A Node.js that lacks what one probe looks for. */
const OTHERS: Readonly<Record<Internal, () => Exchange>> = {
  'prepared-head': () => openExchange(HeadElsewhere as unknown as typeof ServerResponse),
  'rendered-head': () => openExchange(HeadElsewhere as unknown as typeof ServerResponse),
  'keep-alive': () =>
    onRequest(({ responses: [response] }) => freeze(response ?? {}, 'shouldKeepAlive', true)),
  'current-buffer': () => onConnection(({ connection }) => freeze(connection, 'parser', null)),
  'stop-parsing': () => onConnection(({ connection }) => freeze(connection, 'parser', null)),
  'half-open': () => onConnection(({ server }) => freeze(server, 'httpAllowHalfOpen', false)),
  'last-response': () => onConnection(({ connection }) => freeze(connection, 'destroySoon', () => undefined)),
  'end-of-body': () => onRequest(({ requests: [request] }) => freeze(request ?? {}, 'complete', false)),
  'idle-connections': () =>
    onConnection(({ server }) => freeze(server, 'closeIdleConnections', () => undefined)),
  'unparsed-rest': () =>
    onConnection(({ connection }) => freeze(connection, 'removeAllListeners', () => connection)),
  'turn-in-line': () =>
    onRequest(({ responses: [response] }) =>
      response?.removeAllListeners().on('newListener', () => response.removeAllListeners('socket')),
    ),
  'destroyed-by': () => onConnection(({ connection }) => freeze(connection, 'destroy', () => connection)),
}

test('this Node.js behaves as every use of its internals expects', async () => {
  expect(await findMissing()).toEqual([])
})

test.each(Object.keys(OTHERS) as Internal[])('a Node.js without %s is recognized', async (name) => {
  expect(await findMissing((probe) => (probe === name ? OTHERS[name]() : openExchange()))).toEqual([name])
})
