import { type OccupationPage, pageOf, type SampleRecord } from './catalogue.ts'
import type { ExactRequest } from './exact-http.ts'

/** What the model knows of a key or a token that somebody may send. */
export interface Credential {
  readonly kind: 'key' | 'jwt'
  readonly text: string
  /** Of a key. */
  readonly id?: string
  readonly client: string
  readonly scopes: readonly string[]
  readonly eids: readonly string[]
  /** Milliseconds since 1970: from then on it is refused. */
  readonly expires: number
  /** Revoked, forged, or for somebody else. */
  wrong: boolean
}

export interface Submission {
  readonly token: string
  readonly eid: string
  readonly returnId: string
  /** Counted up with each publish. */
  readonly run: number
  readonly entries: readonly object[]
}

/** Everything there is, as the model has it: who may see what follows from this alone. */
export class World {
  readonly credentials: Credential[] = []
  readonly submissions: Submission[] = []
  catalogue: SampleRecord[] = []
  imports = 0
  /** The ETag that each page of each run was seen with, by `nameOf`. */
  readonly etags = new Map<string, string>()
  #marks: number

  /** @param before the world whose marks go on existing */
  constructor(before?: World) {
    this.#marks = before === undefined ? 0 : before.#marks
  }

  /** A text that occurs nowhere else: wherever it turns up, it is known what has got there. */
  mark(): string {
    return `zq${++this.#marks}zq`
  }
}

/** Everything in a text that a mark has been put into. */
export function marksIn(text: string): string[] {
  return text.match(/zq\d+zq/g) ?? []
}

/** A request, and what is known about it because it was made here. */
export interface Question {
  readonly request: ExactRequest
  readonly operation: 'results' | 'occupations'
  readonly supported: boolean
  /** `none`: not one was sent; `undefined`: one that there is not. */
  readonly credential: Credential | 'none' | undefined
  readonly clientId: string | undefined
  /** The one EID header that was sent; `undefined` where there is none, or more than one. */
  readonly eid: string | undefined
  /** As the service decodes it. */
  readonly token: string
  readonly acceptsJson: boolean
  readonly parameters: readonly (readonly [name: string, value: string])[]
  readonly condition: readonly string[]
}

/** How a request has to be answered. */
export type Outcome =
  | {
      readonly kind: 'page'
      readonly name: string
      readonly body: string
      /** The header Link, where it can name a token. */
      readonly link?: string | undefined
    }
  | { readonly kind: 'not-modified'; readonly name: string }
  | {
      readonly kind: 'refused'
      readonly policy: 'failed-credentials' | 'validation-results' | 'occupations'
      /** The end of its sentence, which depends on the credential and the EID, and never on the token. */
      readonly detail: string
    }
  | { readonly kind: 'problem'; readonly status: number; readonly slug: string; readonly members: object }

/** The response to a request by docs/api.md, in its order of checks. */
export function predict(world: World, question: Question, publicOccupations: boolean): Outcome {
  const { operation, credential, clientId } = question
  if (!question.supported) return problem(400, 'unsupported-version')

  const open = operation === 'occupations' && publicOccupations && credential === 'none'
  const policy = operation === 'results' ? 'validation-results' : 'occupations'
  if (!open) {
    if (credential === 'none' || credential === undefined) return refused('failed-credentials')
    const current = !credential.wrong && Date.now() < credential.expires
    if (!current || (clientId !== undefined && clientId !== credential.client))
      return refused('failed-credentials')
    const scope = operation === 'results' ? 'validation-results:read' : 'occupations:read'
    if (!credential.scopes.includes(scope)) return refused(policy, `lacks the scope ${scope}.`)
    if (operation === 'results') return predictResults(world, question, credential)
  }
  return predictOccupations(world, question)
}

function predictResults(world: World, question: Question, credential: Credential): Outcome {
  const { eid, token, acceptsJson, parameters } = question
  const submission = world.submissions.find((each) => each.token === token)
  if (eid === undefined || !credential.eids.includes(eid))
    return refused('validation-results', describeCoverage(credential, eid))
  if (submission?.eid !== eid)
    return refused('validation-results', `Organisation ${eid} has no submission with this token.`)
  if (!acceptsJson) return problem(406, 'not-acceptable')

  const { entries, returnId, run } = submission
  const content: Record<string, string> = {}
  for (const [name, value] of parameters)
    content[name] = name in content ? `${content[name]},${value}` : value
  const whole = (name: string, fallback: number, most: number) => {
    const value = content[name] ?? String(fallback)
    return /^\d{1,10}$/.test(value) && Number(value) >= 1 && Number(value) <= most ? Number(value) : undefined
  }
  const page = whole('page', 1, 2 ** 31 - 1)
  const pageSize = whole('pageSize', 100, 1000)
  const known = { returnId, submissionToken: token, content }
  const wrong = [
    ...(page === undefined ? ['page'] : []),
    ...(pageSize === undefined ? ['pageSize'] : []),
    ...Object.keys(content).filter((name) => name !== 'page' && name !== 'pageSize'),
  ]
  if (page === undefined || pageSize === undefined || wrong.length > 0) {
    return problem(400, 'invalid-parameters', { ...known, errors: wrong.sort(), errorCode: 'PR1' })
  }
  if (page > Math.max(1, Math.ceil(entries.length / pageSize))) {
    return problem(400, 'invalid-parameters', { ...known, errors: ['page'], errorCode: 'PR2' })
  }
  const results = entries.slice((page - 1) * pageSize, page * pageSize)
  const body = JSON.stringify({ page, pageSize, results, totalCount: entries.length })
  const path = `/v1/submissions/${encodeURIComponent(token)}/validation-results`
  const more = page * pageSize < entries.length
  const link = more ? `<${path}?page=${page + 1}&pageSize=${pageSize}>; rel="next"` : undefined
  const outcome = pageOrNotModified(world, question, `${token} ${run} ${page} ${pageSize}`, body)
  return outcome.kind === 'page' ? { ...outcome, link } : outcome
}

function predictOccupations(world: World, question: Question): Outcome {
  if (!question.acceptsJson) return problem(406, 'not-acceptable')
  const given = Object.fromEntries(question.parameters)
  if (given.Limit === '0') return problem(400, 'invalid-parameters')
  const { Limit = '20', Cursor = '' } = given
  const matches = world.catalogue.filter(({ minorGroups = [] }) =>
    minorGroups.some(
      ({ minorGroup }) => minorGroup.code === (given['Filter.MinorGroupCode'] ?? minorGroup.code),
    ),
  )
  const page: OccupationPage = pageOf(matches, Number(Limit), Cursor)
  const name = `catalogue ${world.imports} ${JSON.stringify([Limit, Cursor, given['Filter.MinorGroupCode']])}`
  return pageOrNotModified(world, question, name, JSON.stringify(page))
}

function pageOrNotModified(world: World, { condition }: Question, name: string, body: string): Outcome {
  const etag = world.etags.get(name)
  const fresh = condition.includes('*') || (etag !== undefined && condition.includes(etag))
  return fresh ? { kind: 'not-modified', name } : { kind: 'page', name, body }
}

/** At most 3 of the 6 organisations are one credential's. */
function describeCoverage({ kind, eids }: Credential, eid: string | undefined): string {
  const subject = kind === 'key' ? 'This key' : 'This credential'
  if (eids.length === 0) return `${subject} covers no organisation.`
  const [first, ...others] = eids
  const last = others.pop()
  const names =
    last === undefined
      ? `organisation ${first}`
      : `organisations ${[first, ...others].join(', ')} and ${last}`
  return `${subject} covers ${names}${eid === undefined || eid === '' ? '' : `, not ${eid}`}.`
}

const NOBODY =
  'Send a valid key, and for validation results the EID header of an organisation that it covers and the token of one of its submissions.'

function refused(policy: Extract<Outcome, { kind: 'refused' }>['policy'], detail = NOBODY): Outcome {
  return { kind: 'refused', policy, detail }
}

function problem(status: number, slug: string, members = {}): Outcome {
  return { kind: 'problem', status, slug, members }
}
