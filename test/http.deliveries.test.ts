import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { until } from './support/command.ts'
import { Service } from './support/service.ts'

/** A service that listens, with more results than a system takes for a reader who takes none. */
async function startWithResults() {
  const service = await Service.start({ RESULTS_PAGE_SIZE_MAX: '10000', PAGE_CACHE_MB: '0' })
  const recordText = 'x'.repeat(2_000)
  const entries = Array.from({ length: 8_000 }, (_, index) => ({ localId: `L${index}`, recordText }))
  await service.publish(entries, { token: 'submission-0001' })
  await service.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = service.app.server.address() as AddressInfo
  const request = (path: string, key = service.key) =>
    `GET ${path} HTTP/1.1\r\nHost: mahi\r\nX-API-Key: ${key}\r\nEID: 1001\r\n\r\n`
  const lines = (operation = 'validation-results') =>
    service.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line.operation === operation && line.outcome !== undefined)
  return { service, port, request, lines }
}

const PAGE = '/v1/submissions/submission-0001/validation-results?pageSize=8000'

test('a response whose client leaves early is logged as incomplete, and counted', async () => {
  const { service, port, request, lines } = await startWithResults()
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(request(PAGE))
  let received = 0
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received > 300_000) socket.pause()
  })
  await until(() => received > 300_000 || undefined)
  socket.destroy()
  const [line] = await until(() => (lines().length > 0 ? lines() : undefined))
  expect(line).toMatchObject({ status: 200, outcome: 'left', client: 'tests', method: 'GET' })
  // How much of it the system took is not known.
  expect(line?.bytes).toBe(0)
  expect(lines()).toHaveLength(1)
  expect(await service.metrics.registry.metrics()).toContain(
    'mahi_http_responses_incomplete_total{operation="validation-results",outcome="left"} 1',
  )
})

test('a reader that the service ends is counted as cut off', async () => {
  const { service, port, request, lines } = await startWithResults()
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(request(PAGE))
  await once(socket, 'data')
  socket.pause()
  service.app.server.closeAllConnections()
  const [line] = await until(() => (lines().length > 0 ? lines() : undefined))
  expect(line).toMatchObject({ status: 200, outcome: 'cut-off' })
})

test('a complete response is logged with the bytes of its body', async () => {
  const { service, port, request, lines } = await startWithResults()
  for (const [path, operation] of [
    [PAGE, 'validation-results'],
    ['/nowhere', 'unknown'],
    ['/v1/occupations', 'occupations'],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    const closing = request(path).replace('\r\n', '\r\nConnection: close\r\n')
    // In two requests: the second one shows that what went before is not counted again.
    socket.write(request(path) + closing)
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    await once(socket, 'close')
    await until(() => lines(operation).length === 2 || undefined)
    const lengths = [...text.matchAll(/content-length: (\d+)/gi)].map(([, length]) => Number(length))
    expect(lines(operation).map(({ outcome, bytes }) => [outcome, bytes])).toEqual(
      lengths.map((length) => ['sent', length]),
    )
  }
  const total = await service.metrics.registry.metrics()
  expect(total).toContain(
    'mahi_http_responses_incomplete_total{operation="validation-results",outcome="left"} 0',
  )
})
