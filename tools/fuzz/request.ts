import { METHODS } from 'node:http'
import type { Expected, Mode } from './case.ts'
import { type Data, EID } from './data.ts'
import { answerOf, areUnfit, assertPage, type Reading } from './model.ts'
import type { Operation } from './operations.ts'

/** Whether something holds of a request; `maybe` where the interface leaves it open or the bytes are near a limit. */
export type Holds = 'no' | 'maybe' | 'yes'

/** A request, one character for each byte, and what is wrong with it in the order in which that is looked at. */
export interface Request {
  method: string
  target: string
  version: string
  headers: [name: string, value: string][]
  body: string
  /** Where it goes; `undefined` for addresses that openapi.json does not describe. */
  readonly operation: Operation | undefined
  /** The address as it is routed, of which the length counts. */
  routed: string
  token: string
  reading: Reading
  malformed: Holds
  wrongVersion: Holds
  expectation: 'none' | 'continue' | 'unknown'
  missing: Holds
  /** Whether the credential is not enough. */
  unauthorized: Holds
  /** Whether there is none, which is enough where the catalogue is public. */
  anonymous: boolean
  /** Whether the EID or the token is not the caller's. */
  foreign: Holds
  excludesJson: Holds
  wrongParameters: Holds
  isFresh: Holds
  /** Statuses that other addresses answer with when all is well. */
  answers: readonly number[]
}

const MAX_ADDRESS = 8192
const MAX_HEAD = 16_384
const MAX_HEADERS = 1000

export function write({ method, target, version, headers, body }: Request): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n${body}`
}

/** The answer that a request has to have. */
export function expect(request: Request, data: Data, mode: Mode): Expected {
  const { method, operation } = request
  const statuses = statusesOf(request, data, mode)
  const check: Expected['check'] = (answer, body) => {
    if (answer.status === 200 && operation !== undefined) {
      const page = answerOf(operation.id, data, request.token, request.reading)
      if (page === undefined) throw new Error('there is no such page')
      if (method !== 'HEAD') assertPage(body, page)
      if (hasNext(page) !== 'link' in answer.headers) throw new Error('Link and the page do not agree')
      if (mode.limited && answer.headers.ratelimit === undefined) throw new Error('RateLimit is missing')
    }
    if (answer.status === 400 && operation?.id === 'getValidationResults' && method !== 'HEAD') {
      assertErrorCode(request, body)
    }
  }
  return {
    method,
    statuses,
    ...(operation !== undefined && method !== 'OPTIONS' && { path: operation.path }),
    continues: request.expectation === 'continue' || request.expectation === 'unknown',
    check,
  }
}

/** Whether another page follows. */
function hasNext(page: object): boolean {
  if (!('pageSize' in page)) return 'nextCursor' in page
  const { page: number, pageSize, totalCount } = page as Record<'page' | 'pageSize' | 'totalCount', number>
  return number * pageSize < totalCount
}

/** The 400 of the validation results tells a parameter that is wrong in itself from a page that there is not. */
function assertErrorCode({ wrongParameters, reading, token }: Request, body: string): void {
  const problem = JSON.parse(body) as Record<string, unknown>
  const meanings = [...reading.values()].map(({ as }) => as)
  if (problem.type !== '/problems/invalid-parameters' || meanings.includes('either')) return
  const code = wrongParameters === 'yes' || meanings.includes('fault') ? 'PR1' : 'PR2'
  if (problem.errorCode !== code)
    throw new Error(`the errorCode is ${problem.errorCode}, and should be ${code}`)
  if (problem.submissionToken !== token) throw new Error('the submissionToken is another')
}

/** The statuses that a request may have: the service looks at these things in this order (docs/api.md). */
function statusesOf(request: Request, data: Data, mode: Mode): readonly number[] {
  const statuses = new Set<number>()
  const reads = request.method === 'GET' || request.method === 'HEAD'
  const options = request.method === 'OPTIONS'
  const isKnown = METHODS.includes(request.method)
  const described = request.operation !== undefined
  // The parser takes no other bytes in an address.
  const isAscii = /^[!-~]*$/.test(request.target)
  const isAdmitted = mode.public && request.anonymous && request.operation?.id === 'listOccupations'
  const steps: [holds: Holds, status: number | readonly number[]][] = [
    // Which of the two is found first depends on where it stands.
    [isAscii && isKnown ? 'no' : 'maybe', 400],
    [exceeds(write(request).length - request.body.length, MAX_HEAD, 700), 431],
    [exceeds(request.headers.length, MAX_HEADERS, 0), 431],
    [isKnown && request.method !== 'CONNECT' ? 'no' : 'yes', request.method === 'CONNECT' ? 405 : 400],
    [isAscii ? request.malformed : 'yes', 400],
    [request.expectation === 'unknown' ? 'yes' : 'no', 417],
    [options ? 'no' : request.wrongVersion, 400],
    [options ? 'no' : exceeds(request.routed.length, MAX_ADDRESS, 0), 414],
    [request.missing, 404],
    [options ? 'yes' : 'no', 204],
    [reads ? 'no' : 'yes', 405],
    [described ? 'no' : 'yes', request.answers],
    [mode.limited ? 'maybe' : 'no', 429],
    [isAdmitted ? 'no' : request.unauthorized, 401],
    [request.foreign, 401],
    [request.excludesJson, 406],
    [wrongParametersOf(request, data), 400],
    [request.isFresh, 304],
    ['yes', 200],
  ]
  for (const [holds, status] of steps) {
    if (holds === 'no') continue
    for (const each of [status].flat()) statuses.add(each)
    if (holds === 'yes') break
  }
  return [...statuses]
}

function exceeds(length: number, most: number, slack: number): Holds {
  return length > most + slack ? 'yes' : length > most - slack ? 'maybe' : 'no'
}

/** Whether a parameter is wrong in itself, or asks for a page that there is not. */
function wrongParametersOf(request: Request, data: Data): Holds {
  const { wrongParameters, reading, operation, token } = request
  const meanings = [...reading.values()].map(({ as }) => as)
  if (wrongParameters === 'yes' || meanings.includes('fault')) return 'yes'
  if (meanings.includes('either') || wrongParameters === 'maybe') return 'maybe'
  if (areUnfit(reading)) return 'yes'
  const isThere =
    operation === undefined || request.foreign === 'yes' || answerOf(operation.id, data, token, reading)
  return isThere ? 'no' : 'yes'
}

const TOKEN = 'fuzz-few'

/** A request that is right, of an operation. */
export function plainRequest(operation: Operation, data: Data): Request {
  const target = operation.path.replace('{submissionToken}', TOKEN)
  return {
    ...blank(),
    target,
    operation,
    routed: target,
    token: TOKEN,
    headers: [
      ['Host', 'localhost'],
      ['X-API-Key', data.keys.whole],
      ['EID', EID],
    ],
  }
}

/** A request that is right, of another address. */
export function otherRequest(target: string, answers: readonly number[]): Request {
  return {
    ...blank(),
    target,
    operation: undefined,
    routed: target,
    headers: [['Host', 'localhost']],
    answers,
  }
}

function blank(): Omit<Request, 'target' | 'operation' | 'routed' | 'headers'> {
  return {
    method: 'GET',
    version: '1.1',
    body: '',
    token: '',
    reading: new Map(),
    malformed: 'no',
    wrongVersion: 'no',
    expectation: 'none',
    missing: 'no',
    unauthorized: 'no',
    anonymous: false,
    foreign: 'no',
    excludesJson: 'no',
    wrongParameters: 'no',
    isFresh: 'no',
    answers: [200],
  }
}

export function setHeader(request: Request, name: string, ...values: string[]): void {
  request.headers = [
    ...request.headers.filter(([each]) => each.toLowerCase() !== name.toLowerCase()),
    ...values.map((value): [string, string] => [name, value]),
  ]
}
