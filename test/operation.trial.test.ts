import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { withScope } from '../src/api/contract/access-rules.ts'
import { operation } from '../src/api/contract/contract.ts'
import { describeDocument } from '../src/api/contract/describe.ts'
import { UNDECLARED } from '../src/api/contract/errors.ts'
import { document } from '../src/api/contract/results.ts'
import { serve } from './support/operations.ts'

const Thing = Type.Object({ code: Type.Optional(Type.String()) }, { title: 'Thing' })
const COMMON = {
  name: 'count-things',
  id: 'countThings',
  summary: 'Count',
  description: 'Counts.',
  tag: 'Things',
  method: 'POST',
  path: '/things',
  access: withScope('occupations:read'),
  limit: 'occupations',
  responses: { 200: describeDocument(Thing, 'A thing.', { code: 'a' }) },
  problems: {},
} as const
const handle = () => document({ code: 'a' })

test('the compiler refuses a wrong declaration', () => {
  const codes = { body: { json: Type.Object({ codes: Type.Array(Type.String()) }), maxBytes: 100 } }
  const wrong = [
    // @ts-expect-error: the schema says that the code of the example is text.
    () => describeDocument(Thing, 'A thing.', { code: 1 }),
    // @ts-expect-error: the schema says that the code of the response is text.
    () => operation(COMMON).handle(() => document({ code: 1 })),
    () =>
      operation({ ...COMMON, request: codes }).handle(({ body }) =>
        // @ts-expect-error: the schema says that a code of the request is text.
        document({ code: body.codes.map((code) => code.toFixed()).join() }),
      ),
    // @ts-expect-error: each operation says who may call it.
    () => operation({ ...COMMON, access: undefined }).handle(handle),
    // @ts-expect-error: no key has this scope.
    () => operation({ ...COMMON, access: withScope('occupations:write') }).handle(handle),
  ]
  for (const declare of wrong) expect(declare).not.toThrow()
})

describe('a wrong declaration stops the start, with its name', () => {
  const countThings = operation(COMMON).handle(handle)

  test.each([
    [
      'a keyword without a reader',
      { request: { query: Type.Object({ a: Type.Integer({ multipleOf: 2 }) }) } },
      'multipleOf',
    ],
    [
      'a keyword without a reader in a body',
      { request: { body: { json: Type.Object({ a: Type.Null() }), maxBytes: 1 } } },
      'no reader',
    ],
    ['a header without a reader', { request: { header: Type.Object({ A: Type.Null() }) } }, 'no reader'],
    ['an undeclared path parameter', { path: '/things/{code}' as const }, 'code'],
    [
      'a schema without a title',
      { responses: { 200: describeDocument(Type.Object({}), 'A thing.', {}) } },
      'the schema of its 200 has no title',
    ],
  ])('%s', (_, wrong, message) => {
    const odd = operation({ ...COMMON, ...wrong }).handle(handle)
    expect(() => serve(odd)).toThrow(/^count-things: /)
    expect(() => serve(odd)).toThrow(message)
  })

  test.each([
    ['access', { access: undefined }, 'access is missing'],
    [
      'scope',
      { access: { scope: 'occupations:write', anonymous: false } },
      'occupations:write does not exist',
    ],
    ['problem', { problems: { 'gone-fishing': 'x' } }, 'gone-fishing does not exist'],
    [
      'recall past an access rule',
      { access: { scope: undefined, anonymous: false, authorize: () => undefined }, recall: () => undefined },
      'recall would skip',
    ],
  ])('a wrong %s that no compiler has seen', (_, wrong, message) => {
    expect(() => serve({ ...countThings, ...wrong } as never)).toThrow(`count-things: `)
    expect(() => serve({ ...countThings, ...wrong } as never)).toThrow(message)
  })

  test.each([
    ['path', { name: 'other', id: 'other' }, 'other: count-things has POST /v1/things too'],
    ['id', { name: 'other', path: '/other' as const }, 'other: count-things has the id countThings too'],
    [
      'name',
      { id: 'other', path: '/other' as const },
      'count-things: count-things has the name count-things too',
    ],
  ])('a repeated %s', (_, change, message) => {
    const other = operation({ ...COMMON, ...change }).handle(handle)
    expect(() => serve(countThings, other)).toThrow(message)
  })
})

test('a body that arrives too slowly gets 408', async () => {
  const body = { stream: ['text/csv'], maxBytes: 1000, minRate: { bytes: 1000, seconds: 1 } }
  const app = serve(
    operation({ ...COMMON, request: { body } }).handle(async ({ body }) => {
      for await (const _ of body.bytes);
      return document({ code: 'a' })
    }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'POST /v1/things HTTP/1.1\r\nHost: localhost\r\nX-API-Key: right\r\nContent-Type: text/csv\r\n',
  )
  socket.write('Content-Length: 999\r\n\r\nlocalId\n')
  const response = (await text(socket.once('data', () => socket.end()))).split('\r\n')
  expect(response[0]).toBe('HTTP/1.1 408 Request Timeout')
  expect(response.at(-1)).toContain('at least 1000 bytes must arrive in 1 seconds')
})

test('an undeclared problem is logged as a fault of its operation', async () => {
  const throwing = operation({ ...COMMON, problems: { conflict: 'Wait.' } }).handle(({ refuse }) =>
    // @ts-expect-error: the operation declares only a conflict.
    refuse('gone', 'It was here.'),
  )
  const lines: object[] = []
  const app = serve(throwing)
  app.addHook('onRequest', async (request) => {
    request.log = { error: (line: object, message: string) => lines.push({ ...line, message }) } as never
  })
  const response = await app.inject({ method: 'POST', url: '/v1/things', headers: { 'x-api-key': 'right' } })
  expect(response.statusCode).toBe(410)
  expect(lines).toMatchObject([{ operation: 'count-things', problem: 'gone', message: UNDECLARED }])
})
