import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { withScope } from '../src/api/contract/access-rules.ts'
import { operation } from '../src/api/contract/contract.ts'
import { describeDocument } from '../src/api/contract/describe.ts'
import { withDefault } from '../src/api/contract/fields.ts'
import { accepted, created, document, stream } from '../src/api/contract/results.ts'
import { serve } from './support/operations.ts'

const Thing = Type.Object(
  {
    code: Type.Optional(Type.String()),
    Size: Type.Optional(Type.Integer()),
    title: Type.Optional(Type.String()),
    tasks: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'Thing' },
)

const COMMON = {
  summary: 'A thing',
  description: 'A thing.',
  tag: 'Things',
  access: withScope('occupations:read'),
  limit: 'occupations',
  responses: {},
  problems: {},
} as const

/** An operation that does nothing yet. */
const at = <
  const Name extends string,
  const Method extends 'GET' | 'POST' | 'PUT' | 'DELETE',
  const Path extends string,
>(
  name: Name,
  method: Method,
  path: Path,
) => ({ ...COMMON, name, id: name, method, path })

const KEY = { 'x-api-key': 'right' }

const createThing = operation({
  ...at('create-thing', 'POST', '/things/{code}'),
  request: {
    path: Type.Object({ code: Type.String({ maxLength: 3 }) }),
    query: Type.Object({ Size: withDefault(Type.Integer({ minimum: 1, maximum: 9 }), 1) }),
    body: {
      json: Type.Object({
        title: Type.String({ maxLength: 20 }),
        tasks: Type.Optional(Type.Array(Type.String())),
      }),
      maxBytes: 100,
    },
  },
  responses: { 201: describeDocument(Thing, 'The new thing.', { code: 'a' }) },
}).handle(({ path, query, body }) =>
  created(`/v1/things/${encodeURIComponent(path.code)}`, { ...path, ...query, ...body }),
)

const post = (payload: string, url = '/v1/things/a', headers: Record<string, string> = {}) => ({
  method: 'POST' as const,
  url,
  payload,
  headers: { ...KEY, 'content-type': 'application/json', ...headers },
})

describe('a declared operation', () => {
  test('reads its path, query and body, and answers with what its handler returns', async () => {
    const response = await serve(createThing).inject(post('{"title":"Kaiako"}', '/v1/things/A%CC%84?size=4'))
    expect(response.statusCode).toBe(201)
    expect(response.headers.location).toBe('/v1/things/%C4%80')
    expect(response.json()).toEqual({ code: 'Ā', Size: 4, title: 'Kaiako' })
  })

  test.each([
    ['a body without a required field', '{}', 400, 'invalid-body', 'title is missing.'],
    ['a body with every kind of fault', '{"title":7,"tasks":"x","other":1}', 400, 'invalid-body', 'other'],
    ['an empty body', '', 400, 'malformed-body', 'empty'],
    ['a body that is not JSON', '{"title":', 400, 'malformed-body', 'JSON'],
    ['a body that is a list', '[]', 400, 'invalid-body', 'The body'],
    [
      'a body that is too large',
      JSON.stringify({ title: 'x'.repeat(200) }),
      413,
      'content-too-large',
      '100 bytes',
    ],
  ])('refuses %s', async (_, payload, status, slug, detail) => {
    const response = await serve(createThing).inject(post(payload))
    expect(response.statusCode).toBe(status)
    expect(response.json().type).toBe(`/problems/${slug}`)
    expect(response.json().detail).toContain(detail)
  })

  test('names every fault of a body', async () => {
    const refused = await serve(createThing).inject(post('{"title":7,"tasks":["a",2],"other":1}'))
    const { detail, errors } = refused.json()
    expect(Object.keys(errors)).toEqual(['The body', 'title', 'tasks[1]'])
    expect(detail).toBe(Object.values(errors).flat().join(' '))
  })

  test('refuses a body of another type, and says which are supported', async () => {
    for (const headers of [
      { 'content-type': 'text/csv' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-encoding': 'gzip' },
    ]) {
      const response = await serve(createThing).inject(post('{"title":"a"}', '/v1/things/a', headers))
      expect(response.statusCode).toBe(415)
      expect(response.json().detail).toContain('Supported:')
    }
  })

  test('checks the credential, then path and query together, then the body', async () => {
    const app = serve(createThing)
    const url = '/v1/things/abcd?size=x'
    expect((await app.inject(post('', url, { 'x-api-key': 'wrong' }))).statusCode).toBe(401)
    const response = await app.inject(post('', url))
    expect(response.statusCode).toBe(400)
    expect(response.json().detail).toMatch(/code .*Size /s)
  })

  test('refuses a body other than an empty object if it reads none', async () => {
    const touch = operation({
      ...at('touch', 'POST', '/things'),
      responses: { 200: describeDocument(Thing, 'The thing.', {}) },
    }).handle(() => document({}))
    const app = serve(touch)
    expect((await app.inject({ method: 'POST', url: '/v1/things', headers: KEY })).statusCode).toBe(200)
    for (const body of ['{}', ' {\r\n} \n', '', '\n'])
      expect([body, (await app.inject(post(body, '/v1/things'))).statusCode]).toEqual([body, 200])
    const spaces = ' '.repeat(70)
    for (const body of ['{"a":1}', '[]', 'null', '{}{}', '{', `{${spaces}}`, 'a=b', '{\u00a0}']) {
      const response = await app.inject(post(body, '/v1/things'))
      expect([body, response.statusCode]).toEqual([body, 400])
      expect(response.json()).toMatchObject({
        type: '/problems/malformed-body',
        detail: 'This operation reads no body. Send none, or an empty JSON object.',
      })
    }
  })

  test('hands over a body as it arrives, up to its limit', async () => {
    const Upload = Type.Object({ bytes: Type.Integer(), type: Type.String() }, { title: 'Upload' })
    const upload = operation({
      ...at('upload', 'PUT', '/things'),
      request: { body: { stream: ['text/csv'], maxBytes: 8 } },
      responses: { 202: describeDocument(Upload, 'Its size.', { bytes: 1, type: 'text/csv' }) },
    }).handle(async ({ body }) => {
      let bytes = 0
      for await (const chunk of body.bytes) bytes += chunk.length
      return accepted('/v1/runs/1', 2, { bytes, type: body.type })
    })
    const app = serve(upload)
    const put = (payload: string, headers = {}) =>
      app.inject({
        method: 'PUT',
        url: '/v1/things',
        payload,
        headers: { ...KEY, 'content-type': 'text/csv', ...headers },
      })
    const response = await put('a,b')
    expect(response.statusCode).toBe(202)
    expect(response.headers['retry-after']).toBe('2')
    expect(response.json()).toEqual({ bytes: 3, type: 'text/csv' })
    expect((await put('a,b,c,d,e')).statusCode).toBe(413)
    expect((await put('a,b', { 'content-type': 'text/plain' })).statusCode).toBe(415)
  })

  test('streams a response of a type that the caller accepts', async () => {
    const Things = Type.Object({ things: Type.Array(Thing) }, { title: 'Things' })
    const list = operation({
      ...at('list', 'GET', '/things'),
      accepts: ['application/json', 'text/csv'],
      responses: { 200: describeDocument(Things, 'The things.', { things: [] }) },
    }).handle(({ accepted }) =>
      accepted === 'text/csv' ? stream('text/csv; charset=utf-8', rows()) : document({ things: [] }),
    )
    async function* rows() {
      yield 'a,b\n'
      yield '1,2\n'
    }
    const app = serve(list)
    const get = (accept: string) => app.inject({ url: '/v1/things', headers: { ...KEY, accept } })
    expect((await get('text/csv')).body).toBe('a,b\n1,2\n')
    expect((await get('*/*')).json()).toEqual({ things: [] })
    expect((await get('image/png')).statusCode).toBe(406)
  })

  test.each(['conflict', 'gone', 'precondition-failed', 'unprocessable-content'] as const)(
    'answers with the problem %s that its handler throws',
    async (slug) => {
      const fail = operation({
        ...at('fail', 'DELETE', '/things'),
        problems: { [slug]: 'It cannot be done.' } as Record<typeof slug, string>,
      }).handle(({ refuse }) => refuse(slug, 'This cannot be done.'))
      const response = await serve(fail).inject({ method: 'DELETE', url: '/v1/things', headers: KEY })
      expect(response.json()).toMatchObject({ type: `/problems/${slug}`, status: response.statusCode })
    },
  )

  test('is named in Allow, also beside a path with a parameter', async () => {
    const list = operation({
      ...at('list', 'GET', '/things/all'),
      responses: { 200: describeDocument(Thing, 'The thing.', {}) },
    }).handle(() => document({}))
    const app = serve(createThing, list)
    const preflight = (url: string) =>
      app.inject({ method: 'OPTIONS', url, headers: { 'access-control-request-method': 'POST' } })
    expect((await preflight('/v1/things/a')).headers['access-control-allow-methods']).toBe('POST')
    expect((await preflight('/v1/things/all')).headers['access-control-allow-methods']).toBe('GET, HEAD')
    const refused = await app.inject({ method: 'PUT', url: '/v1/things/a', headers: KEY })
    expect(refused.statusCode).toBe(405)
    expect(refused.headers.allow).toBe('OPTIONS, POST')
  })
})
