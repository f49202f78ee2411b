import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scope } from '../../src/api/access/principal.ts'
import { Service } from './service.ts'
import { startWorker } from './submission-worker.ts'
import { temporaryFolder } from './temporary.ts'

/**
 * A definition of courses and learners whose warnings can be explained; one needs to be.
 *
 * @param rules the content of the files of its rules, by code
 */
export function makeCollectionDefinition(rules: Readonly<Record<string, string>> = {}): string {
  const folder = join(temporaryFolder(), 'collected')
  mkdirSync(folder, { recursive: true })
  const field = (name: string, more: object = {}) => ({ name, type: 'string', ...more })
  const descriptor = {
    name: 'collected',
    version: '1.2.0',
    'mahi:return': { default: '202512', pattern: '20[0-9]{4}' },
    resources: [
      {
        name: 'learners',
        path: 'learners.csv',
        type: 'table',
        'mahi:code': 'LEA',
        'mahi:fileType': 'Learner',
        'mahi:record': { localId: 'localId', studentId: 'id', courseCode: 'course' },
        schema: {
          fields: [
            field('localId'),
            field('id', { constraints: { required: true } }),
            field('course'),
            field('note', {
              constraints: { maxLength: 8 },
              'mahi:checks': { length: { severity: 'Warning', code: 'LEA-note', needsExplanation: true } },
            }),
            field('remark', {
              constraints: { maxLength: 8 },
              'mahi:checks': { length: { severity: 'Warning', code: 'LEA-remark' } },
            }),
          ],
          primaryKey: ['id'],
          foreignKeys: [{ fields: ['course'], reference: { resource: 'courses', fields: ['code'] } }],
        },
      },
      {
        name: 'courses',
        path: 'courses.csv',
        type: 'table',
        'mahi:code': 'COU',
        'mahi:fileType': 'Course',
        'mahi:record': { localId: 'localId', courseCode: 'code' },
        schema: {
          fields: [field('localId'), field('code', { constraints: { required: true } }), field('title')],
          primaryKey: ['code'],
        },
      },
    ],
  }
  writeFileSync(join(folder, 'datapackage.json'), JSON.stringify(descriptor))
  mkdirSync(join(folder, 'rules'), { recursive: true })
  for (const [code, sql] of Object.entries(rules)) writeFileSync(join(folder, 'rules', `${code}.sql`), sql)
  return folder
}

export const COURSES = 'localId,code,title\nC1,K1,First\n'

/** A file of learners: so many records, of which the first have a note, and others a remark, that are too long. */
export function makeLearners({
  records = 20,
  notes = 0,
  remarks = 0,
  faults = 0,
}: {
  records?: number
  notes?: number
  remarks?: number
  faults?: number
} = {}): string {
  const rows = Array.from({ length: records }, (_, at) => {
    const course = at < faults ? 'K9' : 'K1'
    return `L${at},S${at},${course},${at < notes ? 'a long note' : ''},${at < remarks ? 'a long remark' : ''}\n`
  })
  return `localId,id,course,note,remark\n${rows.join('')}`
}

/** What a caller of the service is sent. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of it.
  readonly body: any
}

const PROVIDER = ['validation-results:read', 'submissions:write'] as const satisfies readonly Scope[]

/**
 * A service that collects returns of the definition above.
 *
 * @param works whether it has a worker
 * @param rules of the definition, by code
 * @param url of its database; by default one of its own
 */
export async function startCollection(
  environment: Record<string, string> = {},
  { works = true, url, rules }: { works?: boolean; url?: string; rules?: Record<string, string> } = {},
) {
  const definition = makeCollectionDefinition(rules)
  const service = await Service.start(
    {
      RATE_LIMIT_SUBMISSIONS: 'off',
      RATE_LIMIT_ORGANISATION: 'off',
      DEFINITIONS: definition,
      ...environment,
    },
    url,
  )
  const createCaller = async (
    client: string,
    eids: readonly string[],
    scopes: readonly Scope[] = PROVIDER,
  ) => {
    const { key, id } = await service.createKey({ client, scopes, eids })
    const ask = async (
      method: 'GET' | 'PUT' | 'POST' | 'DELETE',
      path: string,
      payload?: string | object,
      headers: Record<string, string> = {},
    ): Promise<Reply> => {
      const response = await service.request({
        method,
        url: `/v1${path}`,
        headers: {
          'x-api-key': key,
          ...(eids[0] !== undefined && { eid: eids[0] }),
          ...(typeof payload === 'string' && { 'content-type': 'text/csv' }),
          ...headers,
        },
        ...(payload !== undefined && { payload }),
      })
      const type = String(response.headers['content-type'])
      const isJson = type.includes('json') && !type.includes('ndjson') && response.body !== ''
      const { statusCode: status, headers: received, body: text } = response
      return { status, headers: received, text, body: isJson ? response.json() : undefined }
    }
    return {
      id,
      key,
      eid: eids[0] ?? '',
      ask,
      create: async (returnId = '202512') =>
        (await ask('POST', '/submissions', { returnId })).body.submissionToken as string,
      put: (token: string, file: string, content: string) =>
        ask('PUT', `/submissions/${token}/files/${file}`, content),
      check: async (token: string) => {
        const { body } = await ask('POST', `/submissions/${token}/validation-runs`)
        for (;;) {
          const run = await ask('GET', `/submissions/${token}/validation-runs/${body.runId}`, undefined, {
            prefer: 'wait=20',
          })
          if (run.body.dateCompleted !== undefined) return run.body
        }
      },
    }
  }
  if (works) await startWorker(service.database, [definition])
  return { service, definition, createCaller, provider: await createCaller('records', ['1001']) }
}
