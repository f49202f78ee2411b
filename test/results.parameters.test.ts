import { expect, test } from 'vitest'
import { Service } from './support/service.ts'

const TOKEN = 'submission-0001'
const RETURN = 'SDR-2026-1'

/** Twelve findings, of which a page has ten at most. */
async function start() {
  const service = await Service.start({ RESULTS_PAGE_SIZE_MAX: '10' })
  const entries = Array.from({ length: 12 }, (_, index) => ({ localId: `L${index}` }))
  await service.publish(entries, { token: TOKEN, returnId: RETURN })
  const ask = async (query: string) =>
    await service.get(`/v1/submissions/${TOKEN}/validation-results?${query}`, { eid: '1001' })
  /** The body of the 400 that a query gets. */
  const refuse = async (query: string) => {
    const response = await ask(query)
    expect([query, response.statusCode]).toEqual([query, 400])
    expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    return JSON.parse(response.body)
  }
  return { ask, refuse }
}

test.each([
  ['PR1', 'page=0&pageSize=4', 'page must be a whole number from 1, not "0".'],
  ['PR2', 'page=4&pageSize=4', 'page is 4, past the last page: 12 entries at 4 a page end on page 3.'],
])('the body of a 400 with %s has everything that the interface names', async (errorCode, query, message) => {
  const { ask } = await start()
  const response = await ask(query)
  expect(response.statusCode).toBe(400)
  expect(response.json()).toEqual({
    type: '/problems/invalid-parameters',
    title: 'A parameter is invalid',
    status: 400,
    detail: message,
    instance: `urn:uuid:${response.headers['x-request-id']}`,
    errors: { page: [message] },
    returnId: RETURN,
    submissionToken: TOKEN,
    content: Object.fromEntries(new URLSearchParams(query)),
    errorCode,
  })
})

/** What is no whole number from 1, or out of the range of any. */
const NEVER = [
  ...['0', '-1', '1.5', '1e2', '0x10', '%2B5', '%205', '5%0A', '%00', '1,2', 'NaN', 'null', '[1]', '%D9%A3'],
  ...['2147483648', '9007199254740993'],
]

test('a value other than a whole number in range is PR1, and never clamped', async () => {
  const { ask, refuse } = await start()
  for (const name of ['page', 'pageSize'])
    for (const value of NEVER) {
      const body = await refuse(`${name}=${value}`)
      expect([value, body.errorCode, Object.keys(body.errors)]).toEqual([value, 'PR1', [name]])
      expect(body.content).toEqual({ [name]: decodeURIComponent(value.replaceAll('+', ' ')) })
    }
  const { errors, errorCode } = await refuse('pageSize=11')
  expect([errorCode, errors]).toEqual([
    'PR1',
    { pageSize: ['pageSize must be a whole number from 1 to 10, not "11".'] },
  ])
  expect((await ask('pageSize=10')).json().results).toHaveLength(10)
  // The largest number is past the end, not out of range; an invalid value counts before that.
  expect((await refuse('page=2147483647&pageSize=10')).errorCode).toBe('PR2')
  expect((await refuse('page=999&pageSize=0')).errorCode).toBe('PR1')
})

test('every fault is reported at once, each under its parameter', async () => {
  const { refuse } = await start()
  const { errors, detail, content } = await refuse('page=x&pageSize=0&pagee=1&page=y')
  expect(errors).toEqual({
    page: ['page must be a whole number from 1, not "x".', 'page must be given only once.'],
    pageSize: ['pageSize must be a whole number from 1 to 10, not "0".'],
    pagee: [
      'pagee is not a parameter of this endpoint (did you mean "page"?). Supported parameters: page, pageSize, Filter.ErrorType, Filter.FileType, Filter.ErrorCode, Filter.StudentId, Filter.CourseCode.',
    ],
  })
  for (const message of Object.values(errors).flat()) expect(detail).toContain(message)
  expect(content).toEqual({ page: 'x,y', pageSize: '0', pagee: '1' })
})

test('names match without regard to case, and an empty value counts as not given', async () => {
  const { ask, refuse } = await start()
  expect((await ask('PAGE=2&pagesize=5')).json()).toMatchObject({ page: 2, pageSize: 5 })
  const { errors, content } = await refuse('PAGE=0')
  expect([Object.keys(errors), content]).toEqual([['page'], { page: '0' }])
  expect(await refuse('page=1&Page=1')).toMatchObject({ errorCode: 'PR1', content: { page: '1,1' } })
  for (const query of ['page=', 'page', 'page=&pageSize=', '&&', 'pageSize'])
    expect((await ask(query)).json()).toMatchObject({ page: 1, pageSize: 10 })
  expect((await refuse('page=&page=')).errors.page).toEqual(['page must be given only once.'])
})

test('a parameter that is unknown is refused, whatever it is called', async () => {
  const { refuse } = await start()
  const names = ['__proto__', 'constructor', 'toString', 'valueOf', 'Limit', 'Cursor', 'EID', '<script>']
  const query = names.map((name) => `${encodeURIComponent(name)}=a&${encodeURIComponent(name)}=b`).join('&')
  const { errors, content, errorCode } = await refuse(query)
  expect(errorCode).toBe('PR1')
  for (const object of [errors, content]) expect(Object.getOwnPropertyNames(object)).toEqual(names)
  for (const name of names) {
    expect(Object.getOwnPropertyDescriptor(content, name)?.value).toBe('a,b')
    const [message] = Object.getOwnPropertyDescriptor(errors, name)?.value ?? []
    expect(message).toContain('is not a parameter of this endpoint')
  }
})

test('invalid percent-encoding is repeated as sent, and what is long is reported briefly', async () => {
  const { refuse } = await start()
  expect(await refuse('page=%zz')).toMatchObject({ errorCode: 'PR1', content: { page: '%zz' } })
  expect(await refuse('%ff=1')).toMatchObject({ errorCode: 'PR1', content: { '%ff': '1' } })
  expect((await refuse('page=%E0%A4%A')).errors.page).toEqual(['page must be percent-encoded UTF-8.'])
  const long = 'x'.repeat(7000)
  for (const query of [`page=${long}`, `${long}=1`]) {
    const { errors, detail } = await refuse(query)
    expect(detail.length).toBeLessThan(400)
    expect(JSON.stringify(errors).length).toBeLessThan(600)
  }
})
